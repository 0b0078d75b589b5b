// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/coordinator.h"

#include <algorithm>
#include <chrono>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;

// A join sleeps this long between looks at its threads. It is real time, since a thread ends in real time even with a
// test's clock.
constexpr std::int64_t kLook = 5 * kMillisecond;

}  // namespace

thread_local Thread::State* Thread::current_ = nullptr;

Thread::Thread(std::string name, std::function<void()> body, std::shared_ptr<Coordinator> coordinator)
    : name_(std::move(name)), state_(std::make_shared<State>()) {
  state_->coordinator = std::move(coordinator);
  thread_ = std::thread([state = state_, body = std::move(body)]() mutable {
    current_ = state.get();
    body();
    body = nullptr;  // frees its objects before the thread counts as ended, such as a session whose graph goes next
    std::unique_lock lock(state->mutex);
    state->ending = true;
    std::shared_ptr<Coordinator> mine = std::move(state->coordinator);
    lock.unlock();
    mine.reset();  // may be the last reference to it, and so to the Thread, which takes the lock
    lock.lock();
    state->ended = true;
    state->changed.notify_all();
  });
}

Thread::~Thread() {
  if (!thread_.joinable()) return;
  // The thread's body may have the last reference to the owner.
  if (join_for(0) && thread_.get_id() != std::this_thread::get_id()) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

bool Thread::join_for(std::int64_t timeout_ns) {
  std::unique_lock lock(state_->mutex);
  if (timeout_ns > 0)
    state_->changed.wait_for(lock, std::chrono::nanoseconds(timeout_ns), [&] { return state_->ended; });
  return state_->ended;
}

void Thread::registered_with(std::shared_ptr<Coordinator> coordinator) {
  const std::lock_guard lock(state_->mutex);
  if (!state_->ending) state_->coordinator = std::move(coordinator);
}

std::shared_ptr<Coordinator> Thread::callers_coordinator() {
  if (current_ == nullptr) return nullptr;
  const std::lock_guard lock(current_->mutex);
  return current_->coordinator;
}

Coordinator::Coordinator(Clock& clock, std::vector<Code> clean_stop_codes, const void* owner)
    : clock_(clock), clean_stop_codes_(std::move(clean_stop_codes)), owner_(owner) {}

void Coordinator::request_stop(const std::string& reason) {
  const std::lock_guard lock(mutex_);
  if (stop_) return;
  reason_ = reason;
  stop_ = true;
  changed_.notify_all();
}

void Coordinator::ask_to_stop(const std::string& reason) {
  const std::string who = asker_ ? asker_() : std::string();
  const std::string text = who.empty() ? reason : who + ": " + reason;
  if (stop_ || !refuse_ || !refuse_(text)) request_stop(text);
}

bool Coordinator::is_clean(Code code) const noexcept {
  return std::find(clean_stop_codes_.begin(), clean_stop_codes_.end(), code) != clean_stop_codes_.end();
}

void Coordinator::request_stop(const Error& error) {
  if (!record(error)) throw Error(error);
}

bool Coordinator::record(const Error& error) {
  const std::lock_guard lock(mutex_);
  const bool clean = is_clean(error.code());
  if (joined_ && !clean) return false;
  if (stop_) return true;
  if (!clean) error_ = error;
  reason_ = error.what();
  stop_ = true;
  changed_.notify_all();
  return true;
}

bool Coordinator::wait_for_stop(std::int64_t timeout_ns) {
  std::unique_lock lock(mutex_);
  const std::int64_t deadline = timeout_ns < 0 ? 0 : clock_.monotonic_ns() + timeout_ns;
  while (!stop_) {
    if (timeout_ns < 0) {
      changed_.wait(lock);
    } else {
      if (clock_.monotonic_ns() >= deadline) break;
      clock_.wait_until(lock, changed_, deadline);
    }
  }
  return stop_;
}

void Coordinator::clear_stop() {
  const std::lock_guard lock(mutex_);
  joined_ = false;
  error_.reset();
  reason_.clear();
  stop_ = false;
}

std::string Coordinator::stop_reason() const {
  const std::lock_guard lock(mutex_);
  return reason_;
}

void Coordinator::register_thread(std::shared_ptr<Joinable> thread) {
  thread->registered_with(weak_from_this().lock());
  const std::lock_guard lock(mutex_);
  registered_.push_back(std::move(thread));
}

bool Coordinator::unregister_thread(const std::function<bool(Joinable&)>& is_it) {
  std::vector<std::shared_ptr<Joinable>> threads;
  {
    const std::lock_guard lock(mutex_);
    threads = registered_;
  }
  for (const auto& thread : threads) {
    if (!is_it(*thread)) continue;  // it may wait for a join, which may call this
    const std::lock_guard lock(mutex_);
    std::erase(registered_, thread);
    return true;
  }
  return false;
}

std::shared_ptr<Joinable> Coordinator::start_thread(const std::string& name, std::function<void()> body) {
  auto thread = std::make_shared<Thread>(
      name, [this, body = std::move(body)] { stop_on_exception(body); }, weak_from_this().lock());
  register_thread(thread);
  return thread;
}

std::vector<std::string> Coordinator::join(const std::vector<std::shared_ptr<Joinable>>& threads,
                                           const JoinOptions& options) {
  std::vector<std::shared_ptr<Joinable>> waiting = threads;
  {
    const std::lock_guard lock(mutex_);
    for (const auto& t : registered_)
      if (std::find(waiting.begin(), waiting.end(), t) == waiting.end()) waiting.push_back(t);
  }
  std::optional<Error> ended_with;
  const auto drop_ended = [&](std::int64_t timeout_ns) {
    std::erase_if(waiting, [&](const auto& t) {
      if (!t->join_for(timeout_ns)) return false;
      if (!ended_with) ended_with = t->error();
      return true;
    });
  };
  drop_ended(0);
  while (!waiting.empty() && !should_stop()) drop_ended(kLook);
  // The grace period counts by the coordinator's clock. Real time also counts, in case a test's clock does not move.
  const auto grace = static_cast<std::int64_t>(options.stop_grace_period_secs * 1e9);
  const std::int64_t start = clock_.monotonic_ns();
  const auto real_start = std::chrono::steady_clock::now();
  std::int64_t sleep = kMillisecond;
  while (!waiting.empty()) {
    const std::int64_t passed = std::max(
        clock_.monotonic_ns() - start, std::chrono::nanoseconds(std::chrono::steady_clock::now() - real_start).count());
    if (passed >= grace) break;
    drop_ended(std::min(sleep, grace - passed));
    sleep = std::min<std::int64_t>(sleep * 2, 100 * kMillisecond);
  }
  std::vector<std::string> alive;
  alive.reserve(waiting.size());
  for (const auto& t : waiting) alive.push_back(t->label());
  {
    const std::lock_guard lock(mutex_);
    joined_ = true;
    registered_.clear();
    if (!error_ && ended_with && !is_clean(ended_with->code())) error_ = ended_with;
    if (error_) throw Error(*error_);
  }
  if (!alive.empty() && !options.ignore_live_threads)
    fail(Code::kFailedPrecondition, "Coordinator stopped with threads still running: " + runtime::joined(alive, " "));
  return alive;
}

bool Coordinator::joined() const {
  const std::lock_guard lock(mutex_);
  return joined_;
}

void Coordinator::raise_requested_exception() const {
  const std::lock_guard lock(mutex_);
  if (error_) throw Error(*error_);
}

std::optional<Error> Coordinator::requested_exception() const {
  const std::lock_guard lock(mutex_);
  return error_;
}

}  // namespace belay::runtime
