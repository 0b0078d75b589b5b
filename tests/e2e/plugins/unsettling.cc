// SPDX-License-Identifier: Apache-2.0
// A hook that changes the settings of the thread that calls it, in each of its callbacks, as a test asks.
#include <belay/plugin.h>
#include <omp.h>

#include <cfenv>
#include <iterator>
#include <string>

namespace {

struct Change {
  const char* name;
  void (*make)();
};
constexpr Change kChanges[] = {
    {"num_threads", [] { omp_set_num_threads(1); }},
    {"dynamic", [] { omp_set_dynamic(1); }},
    {"nested",
     [] {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
       omp_set_nested(0);
#pragma GCC diagnostic pop
     }},
    {"max_active_levels", [] { omp_set_max_active_levels(0); }},
    {"schedule", [] { omp_set_schedule(omp_sched_dynamic, 1); }},
    {"num_teams", [] { omp_set_num_teams(1); }},
    {"teams_thread_limit", [] { omp_set_teams_thread_limit(1); }},
    {"default_device", [] { omp_set_default_device(1); }},
    {"default_allocator", [] { omp_set_default_allocator(omp_high_bw_mem_alloc); }},
    {"affinity_format", [] { omp_set_affinity_format("%n of %N"); }},
    {"pause", [] { omp_pause_resource_all(omp_pause_soft); }},
    {"own_team",
     [] {
#pragma omp parallel num_threads(5)
       std::fesetround(FE_DOWNWARD);
     }},
    {"rounding", [] { std::fesetround(FE_UPWARD); }},
};

class Unsettling final : public belay::Hook {
 public:
  struct Options {
    belay::Str change;
  };
  static constexpr auto about =
      belay::about("unsettling", "Changes the settings of its thread, for tests of the host",
                   belay::option("change", &Options::change, "one of them, or all").watching());

  explicit Unsettling(const Options& o) : change_(o.change.view()) { change(); }
  void begin(belay::Graph&) override { change(); }
  void after_create_session(belay::Session&) override { change(); }
  belay::RunArgs before_run(belay::RunContext&) override {
    change();
    return {};
  }
  void after_run(belay::RunContext&, const belay::RunValues&) override { change(); }
  void before_save(belay::Session&, std::int64_t) override { change(); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    change();
    return false;
  }

 private:
  void change() const {
    bool known = false;
    for (const Change& c : kChanges)
      if (change_ == c.name || change_ == "all") c.make(), known = true;
    if (!known) belay::fail(belay::Code::kInvalidArgument, "there is no change '" + change_ + "'");
  }
  const std::string change_;
};

}  // namespace

BELAY_MODULE("1.0.0", Unsettling)
