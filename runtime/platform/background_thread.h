// SPDX-License-Identifier: Apache-2.0
// A thread for long work beside the program's own, one job after the other. The kernel runs it where little else wants
// the processor (SCHED_BATCH, and 5 less important). The thread starts with the first job.
//
//   BackgroundThread thread("belay-save");
//   thread.start([&] { ... });     // must not throw
//   thread.wait();                 // what the job did is seen from here on
//
// One thread at a time uses it.
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
  // `name`: as ps and top show it, at most 15 bytes.
  explicit BackgroundThread(std::string name) : name_(std::move(name)) {}
  // Waits for all jobs.
  ~BackgroundThread();
  BackgroundThread(const BackgroundThread&) = delete;
  BackgroundThread& operator=(const BackgroundThread&) = delete;

  // Behind those that were started before. std::system_error where there can be no thread.
  void start(std::function<void()> job);
  // Until all jobs are done.
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
