// SPDX-License-Identifier: Apache-2.0
// The graph of a program: TensorFlow's Graph, with the plugins that the program links in.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   const Output w = ops::variable(graph, "w", Tensor(0.0f));
//   const Output loss = ops::square(w - 3.0);
//   const Output train = graph.minimize(loss, {.name = "momentum", .options = {{"momentum", 0.5}}});
//
// belay/graph.h has Graph, a handle that owns nothing: hooks, models and the functions of belay/ops take it. An
// OwnedGraph owns the nodes. Use it in place of a Graph, and keep it until the last session over it has ended. It can
// be extended until a session is made over it. While a session lives, a change is FAILED_PRECONDITION. Sessions over
// one graph may follow each other; between them the graph is open again.
//
// Threads: one at a time while it is extended. While a session lives, functions that only read may be called from any
// thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay {

using runtime::LearningRate;  // NOLINT(misc-unused-using-decls): for programs
using runtime::OptimizerSettings;

// A graph that owns its nodes.
class OwnedGraph : public Graph {
 public:
  // Makes an empty graph. `plugins` are those of everything that is made with it. The graph uses the operations among
  // them, minimize() finds optimizers and schedules there, and sessions their hooks and savers.
  // belay::default_plugins() are those that need no files. To link in another plugin, use the target NAME_linked of
  // belay_add_plugin(NAME) and its module &belay_module_NAME. Without plugins only the built-in operations exist. It
  // throws for a module of another ABI, and for two plugins or operations of one name, with the name. The modules must
  // live as long as the program.
  explicit OwnedGraph(std::vector<const belay_module*> plugins = {});
  // Destroy it after the last session over it.
  ~OwnedGraph();
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;

  // Adds the operation of a training step: run it to train once. It computes the gradients of `loss`, a floating-point
  // scalar, for all trainable variables, and clips them as the settings state. Then it updates the variables by the
  // optimizer's rule and increases the global step, which it makes if the graph has none. Names are TensorFlow's:
  // "gradients/...", "train/update_w". The result is in the collection "train_op", the gradients in "gradients". Call
  // it outside all scopes.
  //
  // The default optimizer is plain gradient descent, "sgd", and the default learning rate is 0.001.
  // optimizer_settings.h has all settings, schedules and the warm-up too. NOT_FOUND: no plugin has the name.
  // INVALID_ARGUMENT: wrong options, a loss that depends on no trainable variable, or an operation without a gradient
  // on the way.
  Output minimize(const Output& loss, const OptimizerSettings& optimizer = {});

  // Names an output by its role in the model ("loss", "learning_rate", a metric), so hooks find it under any node name.
  // Hooks use "loss" by default. A second output of a role replaces the first.
  void set_role(const std::string& role, const Output& output);

  // Adds an operation that sets each global variable to its initial value. Monitored sessions initialize by themselves;
  // an OwnedSession needs this operation. Each call makes a new one.
  Output global_variables_initializer();
  // Does the same for local variables (counters of a metric or of an input's epochs) and tables.
  Output local_variables_initializer();

  // The plugins that the constructor got.
  const std::vector<const belay_module*>& plugins() const noexcept;

  // For Belay itself.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedGraph(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
