// SPDX-License-Identifier: Apache-2.0
// A hook that loses the session once, and may fail when it is made anew.
#include <belay/plugin.h>

#include <string>

namespace {

class Preempted final : public belay::Hook {
 public:
  struct Options {
    std::int64_t at_run = 10;
    std::int64_t stop_at_run = -1;
    belay::Str fail_with;
  };
  static constexpr auto about =
      belay::about("preempted", "Loses the session once",
                   belay::option("at_run", &Options::at_run, "fails with UNAVAILABLE before this run, from 1"),
                   belay::option("stop_at_run", &Options::stop_at_run, "asks to stop after this one"),
                   belay::option("fail_with", &Options::fail_with,
                                 "out_of_range or stop: in after_create_session of the second session"));

  explicit Preempted(const Options& options) : options_(options) {}

  void after_create_session(belay::Session&) override {
    if (++sessions_ != 2 || options_.fail_with.empty()) return;
    belay::fail(options_.fail_with == "stop" ? belay::Code::kStop : belay::Code::kOutOfRange,
                "the side file is too short");
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    if (++runs_ == options_.at_run) belay::fail(belay::Code::kUnavailable, "the server is away");
    return {};
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    if (runs_ == options_.stop_at_run) run.request_stop("enough");
  }
  void end(belay::Session&) override { host().info("end was called"); }
  void on_error(const belay::Error&) override { host().info("on_error was called"); }

 private:
  const Options options_;
  std::int64_t runs_ = 0, sessions_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Preempted)
