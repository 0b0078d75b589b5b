// SPDX-License-Identifier: Apache-2.0
// Lets one call at a time into a monitored session, and refuses those that would wait for themselves: see "Inside" and
// "Threads" in monitored_session.h. [any thread]
//
//   const SessionTurns::Visit visit(turns, "Run", SessionTurns::Place::kRun);   // waits for its turn, or throws
//   ... the call ...                                                            // visit returns the turn
#pragma once

#include <atomic>
#include <memory>
#include <string>

#include "runtime/monitored/layers/turns.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

class SessionTurns {
 public:
  // The place of the thread inside.
  enum class Place { kOutside, kStepFn, kRun, kSave, kRecovery, kEnd };

  // One call. It comes from outside and has its turn, or a step function makes it from inside.
  class Visit {
   public:
    Visit(SessionTurns& turns, const char* call, Place place);
    // The caller has taken the turn already.
    Visit(SessionTurns& turns, Place place);
    ~Visit();
    Visit(const Visit&) = delete;
    Visit& operator=(const Visit&) = delete;
    // A recovery belongs to the outermost call. A thread for which it would wait cannot make it.
    bool may_recover() const noexcept { return !inside_ && own_ == nullptr; }

   private:
    void wait_for_turn(const char* call, Place place);

    SessionTurns& turns_;
    Place before_;
    bool inside_ = false;
    std::shared_ptr<Coordinator> own_;  // the thread's, if it is one of the session's
  };

  // While it lives, the thread is in the step function itself, and not in a run of it.
  class InStepFn {
   public:
    explicit InStepFn(SessionTurns& turns) : turns_(turns) { turns_.place_ = Place::kStepFn; }
    ~InStepFn() { turns_.place_ = Place::kRun; }
    InStepFn(const InStepFn&) = delete;
    InStepFn& operator=(const InStepFn&) = delete;

   private:
    SessionTurns& turns_;
  };

  // The owner of the session's coordinators. It is only compared.
  explicit SessionTurns(const void* owner) : owner_(owner) {}

  // True if the calling thread is inside.
  bool mine() const noexcept { return turns_.mine(); }
  // A Visit with the turn already follows. False: it would have to wait.
  bool try_take() { return turns_.try_take(); }
  // True if the calling thread is inside and ends the session.
  bool at_end() const noexcept { return place_ == Place::kEnd; }
  void check_outside(const char* call) const;

  // The coordinator that the calling thread was started with, if the session made it.
  std::shared_ptr<Coordinator> own_coordinator() const;
  // Whether the coordinator is that of the open session.
  bool is_open(const Coordinator& coordinator) const noexcept { return &coordinator == coordinator_; }
  // The session of this coordinator is open from now on.
  void opened(const Coordinator& coordinator) noexcept { coordinator_ = &coordinator; }
  // None is open until the next opened(). refuse_waiting() lets the waiting ones ask again.
  void abandoned() noexcept { coordinator_ = nullptr; }
  void refuse_waiting() { turns_.wake(); }
  // Closes the session. Waiting threads are refused.
  void close();
  bool closing() const noexcept { return closing_; }

 private:
  [[noreturn]] void refuse_inside(const std::string& call, Place called) const;

  const void* const owner_;
  Turns turns_;
  Place place_ = Place::kOutside;
  std::atomic<const Coordinator*> coordinator_{nullptr};  // of the open session; it is only compared
  std::atomic<bool> closing_{false};  // a thread that asks should_stop must not wait for its own join
};

}  // namespace belay::runtime
