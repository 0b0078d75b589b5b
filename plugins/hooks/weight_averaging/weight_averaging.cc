// SPDX-License-Identifier: Apache-2.0
// The averages are variables of the graph: weight_averaging/VARIABLE. So checkpoints have them. While the variable
// weight_averaging/evaluate is 1, an evaluation finds them by their names (runtime/monitored/saving/averages.h). Each
// update adds the weights with which its step begins, in the run of that step.
#include <belay/ops/control.h>
#include <belay/ops/math.h>
#include <belay/ops/shape.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using belay::Code;
using belay::DType;
using belay::Graph;
using belay::Output;
namespace ops = belay::ops;

class WeightAveraging final : public belay::Hook {
 public:
  struct Options {
    belay::Str method = "ema";
    double decay = 0.999;
    std::int64_t start_step = 0;
    std::int64_t every_n_steps = 1;
    bool evaluate = true;
    bool use_at_end = true;
  };
  static constexpr auto about = belay::about(
      "weight_averaging", "Keeps averages of the weights, evaluates them, and ends the training with them",
      belay::option("method", &Options::method,
                    "ema: recent updates count most, as decay sets; swa: all updates count the same")
          .choices("ema", "swa"),
      belay::option("decay", &Options::decay,
                    "share of the average that an update of ema keeps; at most (1 + n) / (10 + n) in update n")
          .range(0, 1),
      belay::option("start_step", &Options::start_step, "global step at which the averaging begins").min(0),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the updates, in global steps").min(1),
      belay::option("evaluate", &Options::evaluate, "true: evaluations, predictions and exports use the averages"),
      belay::option("use_at_end", &Options::use_at_end,
                    "true: the last checkpoint has the averages in place of the weights"));

  explicit WeightAveraging(const Options& o)
      : swa_(o.method == "swa"),
        decay_(o.decay),
        start_step_(o.start_step),
        every_n_steps_(o.every_n_steps),
        evaluate_(o.evaluate),
        use_at_end_(o.use_at_end) {}

  void begin(Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    weights_.clear();
    for (const Output& weight : graph.collection(belay::collections::kTrainableVariables))
      if (weight.dtype() == DType::kFloat32 || weight.dtype() == DType::kFloat64) weights_.push_back(weight);
    if (weights_.empty())
      belay::fail(Code::kFailedPrecondition, "the graph has no trainable variables of floating-point numbers");
    if (!graph.find_if_exists(kUpdate)) add_averages(graph);  // a second session on this graph finds them
    update_ = graph.fetch(graph.find(kUpdate));
    updates_ = belay::Fetch<std::int64_t>(graph.find(kUpdates));
    swapped_ = belay::Fetch<float>(graph.find(kSwapped));
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    next_step_ = step_.read(session);
    is_swapped_ = session.value(swapped_) != 0;
  }

  belay::RunArgs before_run(belay::RunContext& run) override {
    // A run that ended may continue: then it gets back the trained weights.
    if (is_swapped_) swap(run.session());
    belay::RunArgs args{step_.fetch()};
    if (next_step_ >= start_step_ && (next_step_ - start_step_) % every_n_steps_ == 0) args.fetch(update_);
    return args;
  }
  void after_run(belay::RunContext&, const belay::RunValues& values) override { next_step_ = step_.predicted(values); }

  void end(belay::Session& session) override {
    if (!use_at_end_ || is_swapped_) return;  // no step was made since the last end, so nothing has changed
    const std::int64_t updates = session.value(updates_);
    if (updates == 0) {
      host().warning("the weights stay as they are: no average was made before step " + std::to_string(start_step_) +
                     " (start_step)");
      return;
    }
    swap(session);
    host().info("the weights are now their averages, of " + std::to_string(updates) + " updates; step " +
                std::to_string(step_.read(session)) + " is saved with them");
    belay::save_checkpoint(host());
  }

 private:
  static constexpr const char* kPrefix = "weight_averaging/";
  static constexpr const char* kUpdate = "weight_averaging/update";
  static constexpr const char* kUpdates = "weight_averaging/updates";
  static constexpr const char* kEvaluate = "weight_averaging/evaluate";
  static constexpr const char* kSwapped = "weight_averaging/swapped";

  static std::string average_of(const Graph& graph, const Output& weight) {
    return kPrefix + graph.node_name_of(weight);
  }
  void add_averages(const Graph& graph) const {
    const auto global = ops::VariableKind::kGlobal;
    const Output updates = ops::variable(graph, kUpdates, belay::Tensor(std::int64_t{0}), global);
    const Output evaluate = ops::variable(graph, kEvaluate, belay::Tensor(0.0f), global);
    // This is a variable and not the hook's state, since in `end` the states are those of before it.
    ops::variable(graph, kSwapped, belay::Tensor(0.0f), global);
    const Output share = share_of_update(graph, ops::cast(updates, DType::kFloat32));
    std::vector<Output> all{ops::assign_add(updates, ops::scalar(graph, 1, DType::kInt64))};
    if (evaluate_) all.push_back(ops::assign(evaluate, ops::scalar(graph, 1, DType::kFloat32)));
    for (const Output& weight : weights_) {
      const Output zeros = ops::zeros(graph, weight.dims(), weight.dtype());
      const Output average = ops::variable(graph, average_of(graph, weight), zeros, global);
      const Output part = weight.dtype() == share.dtype() ? share : ops::cast(share, weight.dtype());
      all.push_back(ops::assign_add(average, (weight - average) * part));
    }
    ops::group(graph, all, kUpdate);
  }
  // Returns the share of the new weights in update n. It is 1 in the first one, so the average begins with the weights.
  Output share_of_update(const Graph& graph, const Output& n) const {
    const Output one = ops::scalar(graph, 1, DType::kFloat32);
    if (swa_) return one / (n + 1);
    const Output share = ops::maximum(ops::scalar(graph, 1 - decay_, DType::kFloat32),
                                      ops::scalar(graph, 9, DType::kFloat32) / (n + 10));
    return ops::select(ops::less(n, ops::scalar(graph, 0.5, DType::kFloat32)), one, share);
  }

  // Swaps weights and averages. So a run that continues after its end loses nothing.
  void swap(const belay::Session& session) {
    const Graph graph = session.graph();
    std::vector<belay::FetchRef> both;
    for (const Output& weight : weights_) both.insert(both.end(), {weight, graph.find(average_of(graph, weight))});
    const belay::RunResult values = session.run(both);
    for (std::size_t i = 0; i < weights_.size(); ++i) {
      session.assign(graph.node_name_of(weights_[i]), values[2 * i + 1]);
      session.assign(average_of(graph, weights_[i]), values[2 * i]);
    }
    const bool swapped = !is_swapped_;
    session.assign(kSwapped, belay::Tensor(swapped ? 1.0f : 0.0f));
    session.assign(kEvaluate, belay::Tensor(evaluate_ && !swapped ? 1.0f : 0.0f));
    is_swapped_ = swapped;
  }

  const bool swa_;
  const double decay_;
  const std::int64_t start_step_, every_n_steps_;
  const bool evaluate_, use_at_end_;
  belay::GlobalStep step_;
  std::vector<Output> weights_;
  Output update_;
  belay::Fetch<std::int64_t> updates_;
  belay::Fetch<float> swapped_;  // 1: the weights are the averages
  bool is_swapped_ = false;      // the same, without a look at the session
  std::int64_t next_step_ = 0;   // the step that the coming run begins with
};

}  // namespace

BELAY_MODULE("1.0.0", WeightAveraging)
