// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/background_thread.h"

#include <pthread.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <utility>

namespace belay::runtime {
namespace {

// Lowers the calling thread's priority. If the system refuses, nothing changes, and the work is still done.
void lower_priority() {
  constexpr int kLess = 5;
  const sched_param none{};
  if (::sched_getscheduler(0) == SCHED_OTHER) ::sched_setscheduler(0, SCHED_BATCH, &none);
  const auto self = static_cast<id_t>(::gettid());
  ::setpriority(PRIO_PROCESS, self, ::getpriority(PRIO_PROCESS, self) + kLess);
}

}  // namespace

BackgroundThread::~BackgroundThread() {
  if (!thread_.joinable()) return;
  wait();
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void BackgroundThread::start(std::function<void()> job) {
  if (!thread_.joinable()) thread_ = std::thread([this] { work(); });
  {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(std::move(job));
  }
  changed_.notify_all();
}

void BackgroundThread::wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return jobs_.empty(); });
}

void BackgroundThread::work() {
  ::pthread_setname_np(::pthread_self(), name_.c_str());
  lower_priority();
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return done_ || !jobs_.empty(); });
    if (jobs_.empty()) return;
    const std::function<void()>& job = jobs_.front();  // it keeps its place while others are added
    lock.unlock();
    job();
    lock.lock();
    jobs_.pop_front();
    changed_.notify_all();
  }
}

}  // namespace belay::runtime
