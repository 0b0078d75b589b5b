// SPDX-License-Identifier: Apache-2.0
// A thread for long work beside the program's, one job after the other. The kernel runs it when few others want the
// processor (SCHED_BATCH, and 5 less important). The thread starts with the first job.
//
//   BackgroundThread thread("belay-save");
//   thread.start([&] { ... });     // must not throw
//   thread.wait();                 // what the job did is seen from here on
//
// Use it from one thread at a time.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

namespace belay::runtime {

class BackgroundThread {
 public:
  // `name` is the name in ps and top, at most 15 bytes.
  explicit BackgroundThread(std::string name) : name_(std::move(name)) {}
  // Waits for all jobs.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Adds a job after the earlier ones. std::system_error: no thread is possible.
  void start(std::function<void()> job);
  // Waits until all jobs are done.
  void wait();

 private:
  void work();

  const std::string name_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<std::function<void()>> jobs_;  // the first is under way
  bool done_ = false;
  std::thread thread_;
};

}  // namespace belay::runtime
