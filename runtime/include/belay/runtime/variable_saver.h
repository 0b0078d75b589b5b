// SPDX-License-Identifier: Apache-2.0
// Saves variables of a session and restores them, when the program says so: TensorFlow's Saver. (belay::Saver is the
// base class of plugins that write tensors into files.)
//
//   belay::VariableSaver saver(graph);                                        // all saved variables of the graph
//   belay::VariableSaver encoder(graph, {w, b});                              // these two, by their nodes' names
//   belay::VariableSaver renamed(graph, {{"encoder/w", w}});                  // by other names in the file
//
//   saver.save(session, "/tmp/encoder.safetensors");                          // one file, replaced if it is there
//   const std::string path = saver.save(session, "/tmp/saves/model.ckpt");    // /tmp/saves/model.ckpt-STEP
//   saver.restore(session, path);
//   saver.restore(session, belay::latest_checkpoint("/tmp/saves"));
//
// A MonitoredTrainingSession saves by itself and needs none, except to put parts of a model elsewhere. Give it
// session.session().
//
// Each save is one moment of all its variables, also while other threads run the session. It is whole or not there,
// whenever the process or the machine ends: the file or folder is written under a hidden name, synced and renamed. A
// checkpoint is read back before it counts.
//
// Threads: one at a time. The graph outlives it, and is open or frozen when it is made.
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

struct VariableSaverOptions {
  // Of the checkpoints of a folder, as many as there are at most: each save removes older ones. 0: all are kept. Those
  // that `belay checkpoint pin` has pinned stay.
  std::int64_t max_to_keep = 5;
  // The graph's plugin that writes checkpoints. That of one file is said by the ending of its name.
  std::string saver = "safetensors";
  // A variable with NaN or infinity is DIVERGED, and nothing is saved.
  bool refuse_non_finite = true;
  LogOptions log = {};
};

// A variable of a VariableSaver and its name in files and checkpoints.
struct StoredVariable {
  // By the name of its node. Implicit, so that a list of variables is a list of these.
  StoredVariable(const Output& v) : variable(v) {}
  StoredVariable(std::string n, const Output& v) : name(std::move(n)), variable(v) {}
  // An element of a std::map.
  StoredVariable(const std::pair<const std::string, Output>& named) : name(named.first), variable(named.second) {}

  std::string name = {};  // empty: that of the node
  Output variable;
};

class VariableSaver {
 public:
  // All variables that the graph's checkpoints hold, as many as there are now. INVALID_ARGUMENT if it has none.
  explicit VariableSaver(const OwnedGraph& graph, const VariableSaverOptions& options = {})
      : VariableSaver(std::unique_ptr<List>(), graph, options) {}
  // These: TensorFlow's var_list, as a list of variables, or of names and variables, or as a map of names to variables.
  // INVALID_ARGUMENT, with the output, for one that is no variable, that is a local variable, or whose name comes
  // twice, and for a list without any.
  template <class Variables = std::vector<StoredVariable>>
  VariableSaver(const OwnedGraph& graph, const Variables& variables, const VariableSaverOptions& options = {})
      : VariableSaver(std::make_unique<List>(variables.begin(), variables.end()), graph, options) {}
  ~VariableSaver();
  VariableSaver(const VariableSaver&) = delete;
  VariableSaver& operator=(const VariableSaver&) = delete;

  // Writes the variables of a session over the graph, and returns the path of what was written. A path that is not
  // absolute is below the current directory. Directories are made where they are missing.
  //
  // "DIR/NAME.safetensors", "DIR/NAME.npz": one file, for other programs, too. One of that name is replaced. What
  //   TensorFlow reads, "DIR/NAME.index" with files beside it, is not replaced: ALREADY_EXISTS.
  // "DIR/NAME": the checkpoint DIR/NAME-STEP. Without a step it is the session's global step. A checkpoint of that step
  //   is replaced. DIR/checkpoint lists those of DIR, so a later start of the program goes on with the list. DIR is for
  //   checkpoints alone: /tmp itself and other folders of the system are PERMISSION_DENIED.
  //
  // FAILED_PRECONDITION: a variable that is not initialized; a DIR that is the directory of a training, which would go
  // on from what is saved there; or in which another run saves at this moment. INVALID_ARGUMENT: a session over another
  // graph, a step with one file, no step and no global step. NOT_FOUND: the graph has no such saver. Others are errors
  // of the disk, and what was there before is there still.
  std::string save(const Session& session, const std::string& path, std::optional<std::int64_t> step = {});

  // Sets the variables to what is stored: in a checkpoint, in the newest checkpoint of a folder, or in one file. What
  // else is stored there is left alone. All variables are read before the first is set, so an error changes none.
  // FAILED_PRECONDITION with a table of all variables that are missing, under which names they may be, and of those
  // with another dtype or shape; DATA_LOSS for damage; NOT_FOUND for a path that is not there.
  void restore(const Session& session, const std::string& path);

  // Paths of the checkpoints in the folder that was saved into last, oldest first.
  const std::vector<std::string>& last_checkpoints() const noexcept;

 private:
  using List = std::vector<StoredVariable>;
  // Null: all.
  VariableSaver(std::unique_ptr<List> variables, const OwnedGraph& graph, const VariableSaverOptions& options);

  struct Insides;
  std::unique_ptr<Insides> insides_;
};

}  // namespace belay
