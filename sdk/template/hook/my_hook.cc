// Stops the run when a tensor has been above a limit for some steps in a row.
#include <belay/plugin.h>

#include <string>

namespace {

class MyHook final : public belay::Hook {
 public:
  struct Options {
    double max = 10;
    std::int64_t patience = 1;
    belay::Str tensor = "loss";
  };
  static constexpr auto about = belay::about(
      "my_hook", "Stops the run when a tensor stays above a limit",
      belay::option("max", &Options::max, "limit of the tensor's value").range(0, 1e30),
      belay::option("patience", &Options::patience, "steps in a row above the limit before the run stops").min(1),
      belay::option("tensor", &Options::tensor, "scalar to watch: a role of the model such as loss, or a node's name"));

  explicit MyHook(const Options& options) : options_(options) {}

  // The graph is being built: an unknown name or another type fails here, before anything has run.
  void begin(belay::Graph& graph) override { value_ = graph.fetch<float>(options_.tensor); }

  // before_run lists the fetches of every step, and after_run gets their values.
  belay::RunArgs before_run(belay::RunContext&) override { return {value_}; }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    above_ = values[value_] > options_.max ? above_ + 1 : 0;
    if (above_ >= options_.patience)
      run.request_stop(std::string(options_.tensor.view()) + " stayed above " + std::to_string(options_.max));
  }

  // Every checkpoint has this state, so a killed run continues as if it had not been killed.
  void save_state(belay::StateWriter& state) const override { state.put("above", above_); }
  void load_state(const belay::StateReader& state) override { above_ = state.integer("above"); }

 private:
  const Options options_;
  belay::Fetch<float> value_;
  std::int64_t above_ = 0;  // steps in a row
};

}  // namespace

BELAY_MODULE("0.1.0", MyHook)
