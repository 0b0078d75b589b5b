// SPDX-License-Identifier: Apache-2.0
// A hook that says of its options that they only watch, and changes the run.
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
  };
  static constexpr auto about = belay::about(
      "meddler", "Changes what it is to watch",
      belay::option("every_n_steps", &Options::every_n_steps, "its period").min(1).watching(),
      belay::option("feed", &Options::feed, "a scalar that it feeds, instead of writing a variable").watching());
  explicit Meddler(const Options& o) : every_(o.every_n_steps), feed_(o.feed.string()) {}

  void begin(belay::Graph& graph) override {
    if (!feed_.empty()) fed_ = graph.find(feed_);
  }
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    if (!feed_.empty() && runs_++ % every_ == 0) args.feed(fed_, belay::Tensor(0.0f));
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
    if (feed_.empty() && runs_++ % every_ == 0) run.session().assign(name_, value_.view());
  }

 private:
  const std::int64_t every_;
  const std::string feed_;
  belay::Output fed_;
  std::int64_t runs_ = 0;
  std::string name_;
  belay::Tensor value_;
};

}  // namespace

BELAY_MODULE("1.0.0", Meddler)
