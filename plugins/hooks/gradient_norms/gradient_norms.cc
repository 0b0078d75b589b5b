// SPDX-License-Identifier: Apache-2.0
// The length of the gradient, of all variables together and of each: a training that is about to diverge, or a layer
// that learns nothing, shows there first.
#include <belay/ops/reductions.h>
#include <belay/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using belay::Code;
using belay::Output;
namespace collections = belay::collections;

class GradientNorms final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every_n_steps = 100;
    bool per_variable = true;
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "gradient_norms", "Writes the norm of the gradient into the event file",
      belay::option("every_n_steps", &Options::every_n_steps, "measure every so many steps").min(1).watching(),
      belay::option("per_variable", &Options::per_variable, "also of each variable's own gradient").watching(),
      belay::option("log", &Options::log, "say the norm of all in the log, too").watching());

  explicit GradientNorms(const Options& o) : o_(o), timer_(std::nullopt, o.every_n_steps) {}

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    const std::vector<Output> gradients = graph.collection(collections::kGradients);
    const std::vector<Output> variables = graph.collection(collections::kGradientVariables);
    if (gradients.empty() || gradients.size() != variables.size())
      belay::fail(Code::kFailedPrecondition,
                  "the graph has no gradients: [optimizer] puts them into the collections 'gradients' and "
                  "'gradient_variables'; a model with a train operation of its own must do it too");
    norms_.clear();
    add_norm(graph, kAll, gradients, "gradient_norms/all");
    if (!o_.per_variable) return;
    for (std::size_t i = 0; i < gradients.size(); ++i) {
      const std::string variable = graph.node_name_of(variables[i]);
      add_norm(graph, kAll + ("/" + variable), {gradients[i]}, "gradient_norms/of/" + variable);
    }
  }

  void after_create_session(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    step_.forget();
    next_step_ = step + 1;
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();  // from steps that are done again
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    due_ = timer_.should_trigger_for_step(next_step_, host());
    if (due_)
      for (const Norm& n : norms_) args.fetch(n.value);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    std::int64_t step = step_.predicted(values);
    if (due_) {
      step = step_.read(run.session());
      timer_.update_last_triggered_step(step, host().monotonic());
      write(values, step);
    }
    next_step_ = step + step_.steps_per_run();
  }

  void save_state(belay::StateWriter& state) const override { timer_.save(state, host().monotonic()); }
  void load_state(const belay::StateReader& state) override { timer_.load(state, host().monotonic()); }

 private:
  static constexpr const char* kAll = "gradient_norm";
  struct Norm {
    std::string tag;
    Output value;
  };

  // A second begin finds what the first one added.
  void add_norm(const belay::Graph& graph, const std::string& tag, const std::vector<Output>& of,
                const std::string& name) {
    Output norm = graph.find_if_exists(name);
    if (!norm) norm = belay::ops::global_norm(of, name);
    norms_.push_back({tag, graph.fetch(norm)});
  }

  void write(const belay::RunValues& values, std::int64_t step) const {
    const belay::Events events(host());
    for (const Norm& n : norms_) events.scalar(n.tag, step, values[n.value].number(0));
    if (!o_.log) return;
    host().info(std::string(kAll) + " " + belay::rounded_text(values[norms_[0].value].number(0)));
  }

  const Options o_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  std::vector<Norm> norms_;
  std::int64_t next_step_ = 0;  // that the coming run probably reaches
  bool due_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", GradientNorms)
