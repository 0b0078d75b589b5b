// SPDX-License-Identifier: Apache-2.0
// The graph of a program: TensorFlow's Graph, with the plugins that the program links in.
//
//   belay::OwnedGraph graph(belay::default_plugins());
//   const Output w = ops::variable(graph, "w", Tensor(0.0f));
//   const Output loss = ops::square(w - 3.0);
//   const Output train = graph.minimize(loss, {.name = "momentum", .options = {{"momentum", 0.5}}});
//
// belay/graph.h has Graph, a handle that owns nothing: what hooks, models and the functions of belay/ops take. An
// OwnedGraph is one that owns the nodes: use it wherever a Graph is asked for, and keep it until the last session over
// it is gone. It can be extended until a session is made over it; from then on a change is FAILED_PRECONDITION, as long
// as a session lives. Sessions over one graph may follow each other: the graph is open again in between.
//
// Threads: one at a time while it is extended; what only asks may be called from any while a session lives.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/optimizer_settings.h"

namespace belay {

using runtime::LearningRate;  // NOLINT(misc-unused-using-decls): for programs
using runtime::OptimizerSettings;

class OwnedGraph : public Graph {
 public:
  // An empty graph. `plugins` are those of everything that is made with it: the operations among them can be used in
  // it, minimize() finds optimizers and schedules there, sessions their hooks and savers. belay::default_plugins() are
  // those that need no files; another one is linked in as the target NAME_linked of belay_add_plugin(NAME), and its
  // module is &belay_module_NAME. Without any the built-in operations are there, and nothing else. An error names a
  // module of another ABI, and two plugins or operations of one name. The modules live as long as the program.
  explicit OwnedGraph(std::vector<const belay_module*> plugins = {});
  // Behind the last session over it.
  ~OwnedGraph();
  OwnedGraph(const OwnedGraph&) = delete;
  OwnedGraph& operator=(const OwnedGraph&) = delete;

  // The operation of a training step: run it to train once. It computes the gradients of `loss`, a floating-point
  // scalar, for all trainable variables, clips them as the settings say, updates the variables by the optimizer's rule
  // and then increases the global step, which is made where the graph has none. Names are TensorFlow's:
  // "gradients/...", "train/update_w"; the result is in the collection "train_op", the gradients in "gradients". Call
  // it in no scope.
  //
  // Without a name it is plain gradient descent, "sgd"; the learning rate, unless it is set, is 0.001. Settings, with
  // schedules and warm-up: optimizer_settings.h. NOT_FOUND where no plugin has the name; INVALID_ARGUMENT for its
  // options, for a loss that depends on no trainable variable, and for an operation without a gradient on the way.
  Output minimize(const Output& loss, const OptimizerSettings& optimizer = {});

  // Names an output by its part in the model, so that hooks find it whatever its node is called: "loss",
  // "learning_rate", a metric. Hooks that are told nothing else look for "loss". A second output of that role takes the
  // place of the first.
  void set_role(const std::string& role, const Output& output);

  // An operation that sets each global variable to its initial value: for an OwnedSession, which does not do it by
  // itself. Monitored sessions do, and need none. A new one at each call.
  Output global_variables_initializer();
  // The same for local variables (counters of a metric or of an input's epochs) and tables.
  Output local_variables_initializer();

  // As they were given to the constructor.
  const std::vector<const belay_module*>& plugins() const noexcept;

  // For Belay itself: what is behind it.
  struct Insides;
  Insides& insides() const noexcept { return *insides_; }

 private:
  explicit OwnedGraph(std::unique_ptr<Insides> insides);

  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
