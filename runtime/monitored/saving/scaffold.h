// SPDX-License-Identifier: Apache-2.0
// The pieces that a session needs besides its graph. They initialize it, check that it is ready, summarize it and save
// it. Pieces that are not given come from the graph's collections, or are made, when the scaffold is finalized. The
// graph is then frozen.
//
//   SessionScaffold scaffold(options);
//   scaffold.finalize(graph);      // done by the session creators
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/training_session.h"
#include "runtime/graph/node_graph.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class RunSaver;
class SessionScaffold;

using InitFn = std::function<void(const SessionScaffold&, DirectSession&)>;
// Fills the memory with the value that a variable begins with; false: it has none.
using InitialValues = std::function<bool(const std::string& variable, const belay_tensor& value)>;

// A program's pieces, and those of the host.
struct ScaffoldOptions : belay::Scaffold {
  // The host asks it for each global variable before the init operation, and sets the values after that operation.
  InitialValues initial_values = {};
  // The host's own init function; it is called before init_fn.
  InitFn host_init = {};
  std::shared_ptr<RunSaver> saver = {};
};

// The values that a source of initial values has for a session. They are read before the init operation runs, and set
// after it.
class GivenValues {
 public:
  // `source` may be empty. It is not asked for variables of strings.
  GivenValues(const DirectSession& session, const InitialValues& source);
  void set(DirectSession& session) const;

 private:
  std::vector<std::pair<std::string, DenseTensor>> values_;
};

class SessionScaffold {
 public:
  explicit SessionScaffold(ScaffoldOptions options = {}) : options_(std::move(options)) {}
  // A copy of another's pieces, over which the given ones win. host_init gets the new scaffold.
  SessionScaffold(const SessionScaffold& copy_from, ScaffoldOptions options);
  SessionScaffold(const SessionScaffold&) = delete;
  SessionScaffold& operator=(const SessionScaffold&) = delete;

  // Fills the gaps in the order init, ready, ready for local init, local init, summary; then freezes the graph. Safe to
  // call again. A collection with several candidates is FAILED_PRECONDITION "More than one item".
  SessionScaffold& finalize(NodeGraph& graph);

  const Output& init_op() const noexcept { return options_.init_op; }
  const Feeds& init_feeds() const noexcept { return options_.init_feeds; }
  const Output& ready_op() const noexcept { return options_.ready_op; }
  const Output& ready_for_local_init_op() const noexcept { return options_.ready_for_local_init_op; }
  const Output& local_init_op() const noexcept { return options_.local_init_op; }
  const Feeds& local_init_feeds() const noexcept { return options_.local_init_feeds; }
  // It is empty if the graph has no summaries.
  const Output& summary_op() const noexcept { return options_.summary_op; }
  const std::shared_ptr<RunSaver>& saver() const noexcept { return options_.saver; }
  const InitialValues& initial_values() const noexcept { return options_.initial_values; }
  // Both init functions in one, which takes only the session. It is empty if there are none.
  std::function<void(DirectSession&)> init_fn() const;

 private:
  ScaffoldOptions options_;
};

}  // namespace belay::runtime
