// SPDX-License-Identifier: Apache-2.0
// Plugins for the tests of the test kit, as an author writes them: C++17, the one include.
#include <belay/plugin.h>

namespace {

class LossCeiling final : public belay::Hook {
 public:
  struct Options {
    double max = 10;
    belay::Str tensor = "loss";
  };
  static constexpr auto about = belay::about("loss_ceiling", "Stops the run when a tensor rises above a limit",
                                             belay::option("max", &Options::max, "stop above this").range(0, 1e30),
                                             belay::option("tensor", &Options::tensor, "scalar to watch"));

  explicit LossCeiling(const Options& o) : o_(o) {}
  void begin(belay::Graph& g) override { loss_ = g.fetch<float>(o_.tensor); }
  belay::RunArgs before_run(belay::RunContext&) override { return {loss_}; }
  void after_run(belay::RunContext& run, const belay::RunValues& v) override {
    if (v[loss_] > o_.max) run.request_stop("loss above max");
  }

 private:
  Options o_;
  belay::Fetch<float> loss_;
};

class Quiet final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("quiet", "Does nothing");
};

class Fill final : public belay::InitFn {
 public:
  struct Options {
    double value = 1;
  };
  static constexpr auto about =
      belay::about("fill", "Sets every variable to one value", belay::option("value", &Options::value, "the value"));
  explicit Fill(const Options& o) : o_(o) {}
  void run(belay::Graph&, belay::Session& session) override {
    for (const belay::VariableInfo& v : session.variables()) {
      belay::Tensor value(v.dtype, v.dims);
      for (std::size_t i = 0; i < value.size(); ++i) value.data<float>()[i] = static_cast<float>(o_.value);
      session.assign(v.name, value);
    }
  }

 private:
  Options o_;
};

}  // namespace

BELAY_MODULE("1.2.3", LossCeiling, Quiet, Fill)
