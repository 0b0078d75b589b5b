// SPDX-License-Identifier: Apache-2.0
// Saves variables of a session and restores them, at the program's request: TensorFlow's Saver. (belay::Saver is the
// base class of plugins that write tensors into files.)
//
//   belay::VariableSaver saver(graph);                                        // all saved variables of the graph
//   belay::VariableSaver encoder(graph, {w, b});                              // these two, by their nodes' names
//   belay::VariableSaver renamed(graph, {{"encoder/w", w}});                  // by other names in the file
//
//   saver.save(session, "/tmp/encoder.safetensors");                          // one file, replaced if it exists
//   const std::string path = saver.save(session, "/tmp/saves/model.ckpt");    // /tmp/saves/model.ckpt-STEP
//   saver.restore(session, path);
//   saver.restore(session, belay::latest_checkpoint("/tmp/saves"));
//
// A MonitoredTrainingSession saves by itself. It needs this class only to write parts of a model to another place. Pass
// it session.session().
//
// Each save is one moment of all its variables, also while other threads run the session. It exists as a whole or not
// at all, even if the process or the machine ends. The file or folder is written under a hidden name, synced and
// renamed. A checkpoint is read back before it counts.
//
// Threads: one at a time. The graph must outlive it, and may be open or frozen when it is made.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/graph.h"
#include "belay/runtime/graph.h"
#include "belay/runtime/log_options.h"
#include "belay/session.h"

namespace belay {

// The options of a VariableSaver.
struct VariableSaverOptions {
  // Largest number of checkpoints of a folder: each save removes older ones. 0: all are kept. Checkpoints that `belay
  // checkpoint pin` has pinned stay.
  std::int64_t max_to_keep = 5;
  // The graph's plugin that writes checkpoints. For one file, the ending of its name selects the plugin.
  std::string saver = "safetensors";
  // If true, a variable with NaN or infinity is DIVERGED, and nothing is saved.
  bool refuse_non_finite = true;
  LogOptions log = {};
};

// A variable of a VariableSaver and its name in files and checkpoints.
struct StoredVariable {
  // Uses the name of its node. It is implicit, so a list of variables is a list of these.
  StoredVariable(const Output& v) : variable(v) {}
  StoredVariable(std::string n, const Output& v) : name(std::move(n)), variable(v) {}
  // Takes an element of a std::map.
  StoredVariable(const std::pair<const std::string, Output>& named) : name(named.first), variable(named.second) {}

  std::string name = {};  // empty: that of the node
  Output variable;
};

// Saves and restores a list of variables.
class VariableSaver {
 public:
  // Takes all variables that the graph's checkpoints hold now. INVALID_ARGUMENT: it has none.
  explicit VariableSaver(const OwnedGraph& graph, const VariableSaverOptions& options = {})
      : VariableSaver(std::unique_ptr<List>(), graph, options) {}
  // Takes these variables, TensorFlow's var_list: a list of variables, or of names and variables, or a map of names to
  // variables. INVALID_ARGUMENT, with the output: it is not a variable, it is a local variable, or its name comes
  // twice. INVALID_ARGUMENT also: the list is empty.
  template <class Variables = std::vector<StoredVariable>>
  VariableSaver(const OwnedGraph& graph, const Variables& variables, const VariableSaverOptions& options = {})
      : VariableSaver(std::make_unique<List>(variables.begin(), variables.end()), graph, options) {}
  ~VariableSaver();
  VariableSaver(const VariableSaver&) = delete;
  VariableSaver& operator=(const VariableSaver&) = delete;

  // Writes the variables of a session over the graph, and returns the path that was written. A relative path is below
  // the current directory. Missing directories are made.
  //
  // "DIR/NAME.safetensors", "DIR/NAME.npz": one file, also for other programs. An existing file is replaced.
  // "DIR/NAME.index" with its other files, which TensorFlow reads, is not replaced: ALREADY_EXISTS.
  // "DIR/NAME": the checkpoint DIR/NAME-STEP. Without a step it is the session's global step. A checkpoint of that step
  // is replaced. DIR/checkpoint lists the checkpoints of DIR, so a later start of the program continues the list. DIR
  // is for checkpoints alone: /tmp itself and other folders of the system are PERMISSION_DENIED.
  //
  // FAILED_PRECONDITION: a variable is not initialized, or another run saves in DIR now. FAILED_PRECONDITION also: DIR
  // is the directory of a training, which would continue from this save. INVALID_ARGUMENT: a session over another
  // graph, a step with one file, or no step and no global step. NOT_FOUND: the graph has no such saver. Other errors
  // are of the disk; the previous files stay.
  std::string save(const Session& session, const std::string& path, std::optional<std::int64_t> step = {});

  // Sets the variables to the stored values: of a checkpoint, of the newest checkpoint of a folder, or of one file.
  // Other stored tensors are ignored. All variables are read before the first is set, so an error changes none.
  // FAILED_PRECONDITION, with a table: variables are missing (with possible names), or have another dtype or shape.
  // DATA_LOSS: the data is damaged. NOT_FOUND: the path does not exist.
  void restore(const Session& session, const std::string& path);

  // Paths of the checkpoints in the folder of the last save, oldest first.
  const std::vector<std::string>& last_checkpoints() const noexcept;

 private:
  using List = std::vector<StoredVariable>;
  // Null: all.
  VariableSaver(std::unique_ptr<List> variables, const OwnedGraph& graph, const VariableSaverOptions& options);

  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
