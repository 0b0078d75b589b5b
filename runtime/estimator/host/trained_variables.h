// SPDX-License-Identifier: Apache-2.0
// An evaluation gets the variables of a training in this process.
#pragma once

#include <memory>
#include <vector>

#include "runtime/monitored/layers/monitored_session.h"

namespace belay::runtime {

// Copies the variables that a training has at one moment into a session that evaluates them.
//
//   TrainedVariables variables;
//   variables.copy(training.store(), evaluation);      // before each pass
//
// The training's store is only read. After the first copy nothing is allocated. [one thread]
class TrainedVariables {
 public:
  // Copies all of the session's global variables, by their names; other threads may train meanwhile.
  // FAILED_PRECONDITION names a variable that training does not have, or has in another shape or type. It is the same
  // error if the trained variables are not of one step. After an error nothing was copied.
  void copy(VariableStore& trained, DirectSession& session);
  // Whether copy would change no bit of the session's variables. Throws as copy does for variables that do not fit.
  bool same(VariableStore& trained, DirectSession& session);

 private:
  void find(const std::vector<Variable*>& wanted, VariableStore& trained);

  std::vector<const Variable*> trained_;
};

// Put it inside a session's scope. When the scope is left, `store` becomes the store in which the session trained to
// its end. It must not be earlier: a recovery trains in another store, and needs the old one's memory.
class KeptStore {
 public:
  KeptStore(MonitoredSession& session, std::shared_ptr<VariableStore>& store) : session_(session), store_(store) {}
  ~KeptStore() {
    if (const std::shared_ptr<DirectSession> raw = session_.raw_session()) store_ = raw->shared_store();
  }
  KeptStore(const KeptStore&) = delete;
  KeptStore& operator=(const KeptStore&) = delete;

 private:
  MonitoredSession& session_;
  std::shared_ptr<VariableStore>& store_;
};

}  // namespace belay::runtime
