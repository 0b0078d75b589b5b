// SPDX-License-Identifier: Apache-2.0
#include <belay/due_steps.h>
#include <belay/ops/summaries.h>
#include <belay/plugin.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using belay::Code;
using belay::Graph;
using belay::Output;
namespace collections = belay::collections;

class Histograms final : public belay::Hook {
 public:
  struct Options {
    bool weights = true;
    bool gradients = true;
    belay::List<belay::Str> tensors;
    std::int64_t every_n_steps = 500;
  };
  static constexpr auto about = belay::about(
      "histograms", "Writes histograms of weights, gradients and other tensors into the event file",
      belay::option("weights", &Options::weights, "true: writes a histogram of each trainable variable").watching(),
      belay::option("gradients", &Options::gradients,
                    "true: writes a histogram of each variable's gradient, before clipping")
          .watching(),
      belay::option("tensors", &Options::tensors,
                    "names of other numeric tensors that get a histogram, such as activations")
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps").min(1).watching());

  explicit Histograms(const Options& o) : weights_(o.weights), gradients_(o.gradients), due_(o.every_n_steps) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
    if (!weights_ && !gradients_ && names_.empty())
      belay::fail(Code::kInvalidArgument, "nothing to write: leave 'weights' or 'gradients' true, or name 'tensors'");
  }

  void begin(Graph& graph) override {
    due_.begin(graph);
    Output merged = graph.find_if_exists(kMerged);  // made by an earlier begin
    if (!merged) merged = belay::ops::merge_summary(graph, histograms(graph), kMerged);
    merged_ = graph.fetch<std::string_view>(merged);
  }
  void after_create_session(belay::Session& session) override { due_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (due_.next(host())) args.fetch(merged_);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (step) belay::Events(host()).summary(values[merged_], *step);
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  static constexpr const char* kMerged = "histograms/all";

  // Does not use ops::histogram_summary, since summary_saver would then write it, too.
  static Output histogram(const Graph& graph, const std::string& tag, const Output& of) {
    return graph.node("HistogramSummary", "histograms/" + tag).in(of).attr("tag", tag).output();
  }
  std::vector<Output> histograms(const Graph& graph) const {
    std::vector<Output> all;
    if (weights_)
      for (const Output& v : graph.collection(collections::kTrainableVariables))
        all.push_back(histogram(graph, "weights/" + graph.node_name_of(v), v));
    if (gradients_) add_gradients(graph, all);
    for (const std::string& name : names_) {
      const Output tensor = graph.find(name);
      all.push_back(histogram(graph, "tensors/" + graph.node_name_of(tensor), tensor));
    }
    if (all.empty()) belay::fail(Code::kFailedPrecondition, "the graph has no trainable variables");
    return all;
  }
  static void add_gradients(const Graph& graph, std::vector<Output>& all) {
    const std::vector<Output> gradients = graph.collection(collections::kGradients);
    const std::vector<Output> variables = graph.collection(collections::kGradientVariables);
    if (gradients.empty() || gradients.size() != variables.size())
      belay::fail(Code::kFailedPrecondition,
                  "the graph has no gradients: [optimizer] puts them into the collections 'gradients' and "
                  "'gradient_variables'; set gradients = false");
    for (std::size_t i = 0; i < gradients.size(); ++i)
      all.push_back(histogram(graph, "gradients/" + graph.node_name_of(variables[i]), gradients[i]));
  }

  const bool weights_, gradients_;
  std::vector<std::string> names_;
  belay::DueSteps due_;
  belay::Fetch<std::string_view> merged_;
};

}  // namespace

BELAY_MODULE("1.0.0", Histograms)
