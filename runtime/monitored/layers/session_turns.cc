// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/session_turns.h"

#include <fmt/core.h>

#include <utility>

#include "belay/error.h"

namespace belay::runtime {

SessionTurns::Visit::Visit(SessionTurns& turns, const char* call, Place place) : turns_(turns), inside_(turns.mine()) {
  if (inside_) {
    if (turns.place_ != Place::kStepFn || place == Place::kEnd) turns.refuse_inside(call, place);
  } else {
    wait_for_turn(call, place);
  }
  before_ = std::exchange(turns.place_, place);
}

SessionTurns::Visit::Visit(SessionTurns& turns, Place place)
    : turns_(turns), before_(std::exchange(turns.place_, place)) {}

SessionTurns::Visit::~Visit() {
  turns_.place_ = before_;
  if (!inside_) turns_.turns_.give_back();
}

void SessionTurns::Visit::wait_for_turn(const char* call, Place place) {
  own_ = turns_.own_coordinator();
  if (place == Place::kEnd && own_ != nullptr)
    fail(Code::kFailedPrecondition,
         fmt::format("[B5071] {} called by a thread of the session, which it would wait for", call));
  turns_.turns_.take([&] {
    if (place == Place::kEnd) return;
    if (turns_.closing_) fail(Code::kFailedPrecondition, fmt::format("[B5070] {} called on a closed session", call));
    if (own_ != nullptr && !turns_.is_open(*own_))
      fail(Code::kCancelled, "the session that this thread was started in is over");
  });
}

std::shared_ptr<Coordinator> SessionTurns::own_coordinator() const {
  std::shared_ptr<Coordinator> coordinator = Thread::callers_coordinator();
  if (coordinator != nullptr && coordinator->owner() != owner_) coordinator.reset();
  return coordinator;
}

void SessionTurns::check_outside(const char* call) const {
  if (mine()) refuse_inside(call, Place::kEnd);
}

void SessionTurns::refuse_inside(const std::string& call, Place called) const {
  const char* where = "a run";
  if (place_ == Place::kStepFn) where = "a step function";
  if (place_ == Place::kSave) where = "a save";
  if (place_ == Place::kRecovery) where = "a recovery";
  if (place_ == Place::kEnd) where = "the end";
  const char* instead = "a hook's own runs go through its context's session";
  if (called == Place::kSave) instead = "a hook asks for a checkpoint with save_checkpoint";
  if (called == Place::kEnd) instead = "request_stop ends the loop";
  fail(Code::kFailedPrecondition,
       fmt::format("[B5071] {} called inside {} of the same session: {}", call, where, instead));
}

void SessionTurns::close() {
  closing_ = true;
  turns_.wake();
}

}  // namespace belay::runtime
