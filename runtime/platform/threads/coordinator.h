// SPDX-License-Identifier: Apache-2.0
// The common stop flag and the threads of one session. [any thread]
//
//   Coordinator coordinator(clock);
//   auto thread = coordinator.start_thread("loader", [&] { while (!coordinator.should_stop()) ...; });
//   coordinator.join();                     // rethrows what a thread reported
//
// A thread that fails reports its error with request_stop(error). The first error counts. Errors with the code of a
// clean stop (OUT_OF_RANGE by default) only stop.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "belay/error.h"
#include "runtime/platform/process/current_error.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

class Coordinator;

// Something that a join waits for.
class Joinable {
 public:
  virtual ~Joinable() = default;
  virtual const std::string& name() const = 0;
  // Returns the name for messages, with its owner and the reason of its wait, if they are known.
  virtual std::string label() const { return name(); }
  // A shared coordinator calls it after it has registered this one.
  virtual void registered_with(std::shared_ptr<Coordinator> /*coordinator*/) {}
  // Returns true if it has ended. Waits for that at most timeout_ns of real time (0: only asks).
  virtual bool join_for(std::int64_t timeout_ns) = 0;
  // Returns its error if the join is to throw that. Threads of this process use request_stop instead.
  virtual std::optional<Error> error() const { return std::nullopt; }
};

// A thread that reports its end. If it is destroyed while it runs, it is abandoned, not waited for. It owns its
// coordinator, so it may use it after the grace period.
class Thread final : public Joinable {
 public:
  Thread(std::string name, std::function<void()> body, std::shared_ptr<Coordinator> coordinator = nullptr);
  ~Thread() override;
  const std::string& name() const override { return name_; }
  // Sets a text for messages after its name: the reason of its wait, if it waits. Call it before the thread is
  // registered.
  void set_waiting(std::function<std::string()> waiting) { waiting_ = std::move(waiting); }
  std::string label() const override { return waiting_ ? name_ + waiting_() : name_; }
  bool join_for(std::int64_t timeout_ns) override;
  void registered_with(std::shared_ptr<Coordinator> coordinator) override;
  // Returns the coordinator of the calling thread. Null: it is no Thread, or is not registered.
  static std::shared_ptr<Coordinator> callers_coordinator();

 private:
  struct State {
    std::mutex mutex;
    std::condition_variable changed;
    std::shared_ptr<Coordinator> coordinator;  // until the thread ends
    bool ending = false;
    bool ended = false;
  };
  static thread_local State* current_;
  std::string name_;
  std::function<std::string()> waiting_;
  std::shared_ptr<State> state_;
  std::thread thread_;
};

class Coordinator : public std::enable_shared_from_this<Coordinator> {
 public:
  // clean_stop_codes end threads without being errors. The owner is only compared: a session knows its threads by it.
  explicit Coordinator(Clock& clock, std::vector<Code> clean_stop_codes = {Code::kOutOfRange},
                       const void* owner = nullptr);
  Coordinator(const Coordinator&) = delete;
  Coordinator& operator=(const Coordinator&) = delete;

  // Asks all threads to stop. The first request counts. After a join a request with an error throws that error, since
  // no join would throw it.
  void request_stop(const std::string& reason = "");
  void request_stop(const Error& error);
  // Handles a plugin's request. Its reason begins with the name that `asker` returns. Without an asker, or with an
  // empty name, no plugin is named. `refuse` may refuse it by returning true. Without `refuse`, it is request_stop.
  void ask_to_stop(const std::string& reason);
  // Call it before other threads have the coordinator. The asking thread calls `asker`.
  void set_asker(std::function<std::string()> asker) { asker_ = std::move(asker); }
  // Call it before other threads have the coordinator. Any thread may call `refuse`, with the reason.
  void set_refusal(std::function<bool(const std::string&)> refuse) { refuse_ = std::move(refuse); }
  bool should_stop() const noexcept { return stop_.load(); }
  // Waits for a stop, at most timeout_ns (negative: for ever). Returns should_stop().
  bool wait_for_stop(std::int64_t timeout_ns);
  // Forgets the stop, the error and the join. Registered threads stay registered.
  void clear_stop();
  // Returns the reason of the first request; empty: there was none.
  std::string stop_reason() const;

  void register_thread(std::shared_ptr<Joinable> thread);
  // Forgets the first thread for which `is_it` returns true. False: there is none.
  bool unregister_thread(const std::function<bool(Joinable&)>& is_it);
  // Makes, registers and starts a thread. Reports an exception of its body with request_stop.
  std::shared_ptr<Joinable> start_thread(const std::string& name, std::function<void()> body);

  struct JoinOptions {
    double stop_grace_period_secs = 120;
    bool ignore_live_threads = false;  // true: only names those that still run
  };
  // Waits until the registered threads (and the given ones) have ended. It also returns if a stop was requested and the
  // grace period is over. It does not wait for threads that are registered meanwhile. It forgets the registered ones.
  // Then it throws the recorded error, else the first error of a thread (Joinable::error). Without either it throws
  // FAILED_PRECONDITION with the threads that still run, if any. Returns the names of these.
  std::vector<std::string> join(const std::vector<std::shared_ptr<Joinable>>& threads, const JoinOptions& options);
  std::vector<std::string> join(const std::vector<std::shared_ptr<Joinable>>& threads = {}) {
    return join(threads, JoinOptions());
  }
  bool joined() const;

  // Throws the recorded error, if there is one.
  void raise_requested_exception() const;
  std::optional<Error> requested_exception() const;

  // Runs f. An exception of f is reported and not rethrown. After a join the report has no reader, so it is dropped.
  template <class F>
  void stop_on_exception(F&& f) {
    try {
      f();
    } catch (...) {
      record(current_error());
    }
  }

  Clock& clock() noexcept { return clock_; }
  const void* owner() const noexcept { return owner_; }

 private:
  bool is_clean(Code code) const noexcept;
  // Stops with this error, unless a stop was requested already. False: a join is over and would never throw it.
  bool record(const Error& error);

  Clock& clock_;
  const std::vector<Code> clean_stop_codes_;
  const void* const owner_;
  std::function<std::string()> asker_;
  std::function<bool(const std::string&)> refuse_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::atomic<bool> stop_{false};
  bool joined_ = false;
  std::string reason_;
  std::optional<Error> error_;
  std::vector<std::shared_ptr<Joinable>> registered_;
};

}  // namespace belay::runtime
