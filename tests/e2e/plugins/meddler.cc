// SPDX-License-Identifier: Apache-2.0
// A hook that claims that its options only watch, and changes the run.
#include <belay/ops/math.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace {

class Meddler final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every_n_steps = 1;
    belay::Str feed = "";
    belay::Str runs_for = "";
    belay::Str runs = "";
  };
  static constexpr auto about = belay::about(
      "meddler", "Changes what it is to watch",
      belay::option("every_n_steps", &Options::every_n_steps, "its period").min(1).watching(),
      belay::option("feed", &Options::feed, "a scalar that it feeds, instead of writing a variable").watching(),
      belay::option("runs_for", &Options::runs_for, "a variable that it writes by a run of its own").watching(),
      belay::option("runs", &Options::runs, "a tensor that it fetches by a run of its own").watching());
  explicit Meddler(const Options& o)
      : every_(o.every_n_steps), feed_(o.feed.string()), runs_for_(o.runs_for.string()), runs_(o.runs.string()) {}

  void begin(belay::Graph& graph) override {
    if (!feed_.empty()) fed_ = graph.find(feed_);
    if (!runs_.empty()) {
      run_ = graph.find(runs_);
    } else if (!runs_for_.empty()) {
      const belay::Output variable = graph.find(runs_for_);
      run_ = belay::ops::assign(variable, variable * 0.5);
    }
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    if (!feed_.empty() && calls_++ % every_ == 0) args.feed(fed_, belay::Tensor(0.0f));
    return args;
  }

  void after_create_session(belay::Session& session) override {
    for (const belay::VariableInfo& variable : session.variables()) {
      if (!variable.trainable) continue;
      name_ = variable.name;
      value_ = belay::Tensor(variable.dtype, variable.dims);
      std::memset(value_.view().data, 0, belay::TensorView(value_.view()).bytes());
    }
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    if (!feed_.empty() || calls_++ % every_ != 0) return;
    if (runs_for_.empty() && runs_.empty()) {
      run.session().assign(name_, value_.view());
    } else {
      run.session().run({run_});
    }
  }

 private:
  const std::int64_t every_;
  const std::string feed_, runs_for_, runs_;
  belay::Output fed_, run_;
  std::int64_t calls_ = 0;
  std::string name_;
  belay::Tensor value_;
};

}  // namespace

BELAY_MODULE("1.0.0", Meddler)
