// SPDX-License-Identifier: Apache-2.0
// Watches the outputs of layers: a wandering mean, a vanishing or exploding deviation, units that are always zero.
#include <belay/due_steps.h>
#include <belay/ops/control.h>
#include <belay/ops/math.h>
#include <belay/ops/reductions.h>
#include <belay/ops/statistics.h>
#include <belay/plugin.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace {

using belay::Code;
using belay::DType;
using belay::Graph;
using belay::Output;
namespace ops = belay::ops;

constexpr std::array<std::string_view, 9> kActivations{"Elu",  "Gelu",    "LeakyRelu", "Relu", "Relu6",
                                                       "Mish", "Sigmoid", "Softplus",  "Tanh"};

class ActivationStats final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    std::int64_t every_n_steps = 100;
  };
  static constexpr auto about = belay::about(
      "activation_stats",
      "Writes the mean, the deviation and the share of zeros of the layers' outputs into the event file",
      belay::option(
          "tensors", &Options::tensors,
          "names of the floating-point tensors; if empty, the outputs of the activation functions before the loss")
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the measurements, in steps")
          .min(1)
          .watching());

  explicit ActivationStats(const Options& o) : due_(o.every_n_steps) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(Graph& graph) override {
    due_.begin(graph);
    stats_.clear();
    for (const Output& tensor : names_.empty() ? activations(graph) : named(graph)) add(graph, tensor);
  }
  void after_create_session(belay::Session& session) override { due_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (due_.next(host()))
      for (const Stat& s : stats_) args.fetch(s.value);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (!step) return;
    const belay::Events events(host());
    for (const Stat& s : stats_) events.scalar(s.tag, *step, values[s.value].number(0));
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  struct Stat {
    std::string tag;
    Output value;
  };

  static bool is_float(const Output& o) { return o.dtype() == DType::kFloat32 || o.dtype() == DType::kFloat64; }
  std::vector<Output> named(const Graph& graph) const {
    std::vector<Output> tensors;
    for (const std::string& name : names_) {
      tensors.push_back(graph.find(name));
      if (tensors.back().is_operation() || !is_float(tensors.back()))
        belay::fail(Code::kInvalidArgument,
                    "activation_stats measures floating-point tensors, " + tensors.back().text() + " is none");
    }
    return tensors;
  }
  // Returns the activations in the order in which they were made, the first layer first.
  std::vector<Output> activations(const Graph& graph) const {
    std::vector<Output> open{graph.find("loss")}, found;
    std::set<std::uint32_t> seen;
    while (!open.empty()) {
      const Output at = open.back();
      open.pop_back();
      if (!seen.insert(at.raw().node).second) continue;
      const std::string op = graph.op_of(at);
      if (std::find(kActivations.begin(), kActivations.end(), op) != kActivations.end() && is_float(at))
        found.push_back(at);
      for (const Output& input : graph.inputs_of(at)) open.push_back(input);
    }
    if (found.empty())
      host().warning(
          "nothing is measured: the loss depends on no activation function that is known here; name tensors in "
          "'tensors'");
    std::sort(found.begin(), found.end(), [](const Output& a, const Output& b) { return a.raw().node < b.raw().node; });
    return found;
  }

  // A second begin finds the nodes of the first one.
  void add(const Graph& graph, const Output& tensor) {
    const std::string name = graph.node_name_of(tensor);
    const std::string prefix = "activation_stats/" + name;
    Output mean = graph.find_if_exists(prefix + "/mean"), deviation = graph.find_if_exists(prefix + "/deviation"),
           zeros = graph.find_if_exists(prefix + "/zeros");
    if (!mean) mean = ops::reduce_mean(tensor, {}, false, prefix + "/mean");
    if (!deviation) deviation = ops::identity(ops::reduce_std(tensor), prefix + "/deviation");
    if (!zeros) {
      const Output is_zero = ops::equal(tensor, ops::scalar(graph, 0, tensor.dtype()));
      zeros = ops::reduce_mean(ops::cast(is_zero, DType::kFloat32), {}, false, prefix + "/zeros");
    }
    stats_.push_back({"activation/" + name + "/mean", graph.fetch(mean)});
    stats_.push_back({"activation/" + name + "/deviation", graph.fetch(deviation)});
    stats_.push_back({"activation/" + name + "/zeros", graph.fetch(zeros)});
  }

  std::vector<std::string> names_;
  belay::DueSteps due_;
  std::vector<Stat> stats_;
};

}  // namespace

BELAY_MODULE("1.0.0", ActivationStats)
