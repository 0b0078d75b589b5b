// SPDX-License-Identifier: Apache-2.0
// Writes the norm of the gradient: of all variables together, and of each. A training that is about to diverge shows
// there first. So does a layer that learns nothing. It also writes the norm of the weights, and the distance that a
// step moves them.
#include <belay/due_steps.h>
#include <belay/ops/reductions.h>
#include <belay/plugin.h>

#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

namespace {

using belay::Code;
using belay::Graph;
using belay::Output;
namespace collections = belay::collections;

class GradientNorms final : public belay::Hook {
 public:
  struct Options {
    std::int64_t every_n_steps = 100;
    bool per_variable = true;
    bool weights = false;
    bool updates = false;
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "gradient_norms", "Writes the norms of the gradient, the weights and their updates into the event file",
      belay::option("every_n_steps", &Options::every_n_steps, "period of the measurements, in steps").min(1).watching(),
      belay::option("per_variable", &Options::per_variable, "true: also writes the norms of each variable separately")
          .watching(),
      belay::option("weights", &Options::weights,
                    "true: also writes the norm of the weights as they are before the step")
          .watching(),
      belay::option("updates", &Options::updates, "true: also writes the norm of the step's change to the weights")
          .watching(),
      belay::option("log", &Options::log, "true: also writes the norms of all variables together to the log")
          .watching());

  explicit GradientNorms(const Options& o) : o_(o), due_(o.every_n_steps) {}

  void begin(Graph& graph) override {
    due_.begin(graph);
    const std::vector<Output> gradients = graph.collection(collections::kGradients);
    const std::vector<Output> variables = graph.collection(collections::kGradientVariables);
    if (gradients.empty() || gradients.size() != variables.size())
      belay::fail(Code::kFailedPrecondition,
                  "the graph has no gradients: [optimizer] puts them into the collections 'gradients' and "
                  "'gradient_variables'; a model with its own train operation must do it too");
    norms_.clear();
    add_norms(graph, "gradient_norm", gradients, variables);
    if (o_.weights) add_norms(graph, "weight_norm", variables, variables);
    variables_.clear();
    update_tags_.clear();
    for (std::size_t i = 0; o_.updates && i < variables.size(); ++i) {
      variables_.push_back(graph.fetch(variables[i]));
      update_tags_.push_back(std::string(kUpdate) + "/" + graph.node_name_of(variables[i]));
    }
  }

  void after_create_session(belay::Session& session) override { due_.session_created(session); }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (!due_.next(host())) return args;
    for (const Norm& n : norms_) args.fetch(n.value);
    for (const Output& variable : variables_) args.fetch(variable);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (const auto step = due_.reached(run.session(), values, host())) write(values, run.session(), *step);
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  static constexpr const char* kUpdate = "update_norm";
  struct Norm {
    std::string tag;
    bool of_all;
    Output value;
  };

  void add_norms(const Graph& graph, const std::string& tag, const std::vector<Output>& of,
                 const std::vector<Output>& variables) {
    add_norm(graph, tag, true, of, tag + "s/all");
    for (std::size_t i = 0; o_.per_variable && i < of.size(); ++i) {
      const std::string variable = graph.node_name_of(variables[i]);
      add_norm(graph, tag + "/" + variable, false, {of[i]}, tag + "s/of/" + variable);
    }
  }
  void add_norm(const Graph& graph, const std::string& tag, bool of_all, const std::vector<Output>& of,
                const std::string& name) {
    Output norm = graph.find_if_exists(name);  // made by an earlier begin
    if (!norm) norm = belay::ops::global_norm(of, name);
    norms_.push_back({tag, of_all, graph.fetch(norm)});
  }
  // The run fetches the weights from before its step, and a later read gets the new ones. A node that waits for the
  // train operation would change the steps at which groups thaw.
  void write_updates(const belay::RunValues& values, const belay::Session& session, std::int64_t step,
                     std::string& text) const {
    const belay::RunResult now = session.run({variables_.begin(), variables_.end()});
    const belay::Events events(host());
    double squares = 0;
    for (std::size_t i = 0; i < variables_.size(); ++i) {
      const double square = square_of_difference(now[i], values[variables_[i]]);
      squares += square;
      if (o_.per_variable) events.scalar(update_tags_[i], step, std::sqrt(square));
    }
    events.scalar(kUpdate, step, std::sqrt(squares));
    if (o_.log) text += std::string(", ") + kUpdate + " " + belay::rounded_text(std::sqrt(squares));
  }
  static double square_of_difference(const belay::TensorView& a, const belay::TensorView& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const double difference = a.number(i) - b.number(i);
      sum += difference * difference;
    }
    return sum;
  }

  void write(const belay::RunValues& values, const belay::Session& session, std::int64_t step) const {
    const belay::Events events(host());
    std::string text;
    for (const Norm& n : norms_) {
      const double norm = values[n.value].number(0);
      events.scalar(n.tag, step, norm);
      if (o_.log && n.of_all) text += (text.empty() ? "" : ", ") + n.tag + " " + belay::rounded_text(norm);
    }
    if (o_.updates) write_updates(values, session, step, text);
    if (o_.log) host().info(text);
  }

  const Options o_;
  belay::DueSteps due_;
  std::vector<Norm> norms_;
  std::vector<Output> variables_;  // for updates; empty without them
  std::vector<std::string> update_tags_;
};

}  // namespace

BELAY_MODULE("1.0.0", GradientNorms)
