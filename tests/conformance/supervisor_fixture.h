// SPDX-License-Identifier: Apache-2.0
// A program with a supervisor, whose time passes when the test moves it.
#pragma once

#include <gmock/gmock.h>

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "belay/ops/summaries.h"
#include "runtime/events/event_reader.h"
#include "runtime/monitored/supervisor/supervisor.h"
#include "tests/monitored/saver_fixture.h"
#include "tests/platform/event_thread.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime::testing {

// A clock that the test moves, and that counts how often services waited for it and read it: so a test knows that a
// service has done its work and waits.
class ServiceClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override {
    ++reads_;
    return clock_.monotonic_ns();
  }
  std::int64_t wall_ns() const override { return clock_.wall_ns(); }
  void wait_until(std::unique_lock<std::mutex>& lock, std::condition_variable& changed, std::int64_t until) override {
    if (is_event_thread()) return changed.wait(lock);
    ++waits_;
    clock_.wait_until(lock, changed, until);
  }
  void advance_secs(std::int64_t seconds) { clock_.advance(seconds * FakeClock::kSecond); }
  // Until so many waits were begun since the start and `services` threads wait now.
  void await_rest(int waits, std::size_t services = 1) {
    while (waits_ < waits) std::this_thread::yield();
    clock_.await_waiters(services);
  }
  int reads() const { return reads_; }

 private:
  FakeClock clock_;
  std::atomic<int> waits_ = 0;
  mutable std::atomic<int> reads_ = 0;
};

class SupervisorConformance : public SaverTest {
 protected:
  SupervisorConformance() : logdir(temp / "log") {}

  Output number(const std::string& name, std::int64_t value, ops::VariableKind kind = ops::VariableKind::kGlobal) {
    return ops::variable(g, name, Tensor(value), kind);
  }
  // With the global step of a graph that has one.
  Output global_step(std::int64_t value) {
    const Output step = number("global_step", value);
    g.collect(collections::kGlobalStep, step);
    return step;
  }
  Output one() { return ops::constant(g, Tensor(std::int64_t{1})); }
  RunSaverOptions saver() {
    RunSaverOptions options;
    options.saver = saver_use(*codec);
    return options;
  }
  // Writes into logdir, and saves there.
  SupervisorSetup with_logdir() {
    SupervisorSetup options;
    options.logdir = logdir;
    options.run_saver = saver();
    return options;
  }
  static std::int64_t value(DirectSession& session, const Output& output) {
    return session.handle().run({output})[0].scalar<std::int64_t>();
  }
  // A queue that is filled with 1 to `n`, which is a run's input, and what takes from it.
  Output add_input(const std::string& name, std::int64_t n) {
    const ops::QueueRef queue = ops::fifo_queue(g, 4, {{DType::kInt64, {}}}, name);
    const Output counter = number(name + "_count", 0, ops::VariableKind::kLocal);
    graph.add_queue_runner(std::make_shared<OpQueueRunner>(
        OpQueueRunner::Options{.queue = queue, .enqueue_ops = {ops::enqueue(queue, {ops::count_up_to(counter, n)})}}));
    return ops::dequeue(queue)[0];
  }
  // The same, through a second queue.
  Output add_chained_input(std::int64_t n) {
    const Output first = add_input("files", n);
    const ops::QueueRef queue = ops::fifo_queue(g, 4, {{DType::kInt64, {}}}, "examples");
    graph.add_queue_runner(std::make_shared<OpQueueRunner>(
        OpQueueRunner::Options{.queue = queue, .enqueue_ops = {ops::enqueue(queue, {first})}}));
    return ops::dequeue(queue)[0];
  }

  // Lists the entries of the event files, file by file: "version", "graph", "START@5", "loss=0.5@7".
  std::vector<std::vector<std::string>> events() const {
    std::vector<std::vector<std::string>> files;
    const std::unique_ptr<OpenDirectory> directory = posix_file_system().open_directory(logdir);
    for (const std::string& name : directory->entries()) {
      if (!name.starts_with("events.out.tfevents.")) continue;
      files.emplace_back();
      EventReader reader(directory->open(name));
      for (pb::Event event; reader.next(event);) files.back().push_back(shown(event));
    }
    return files;
  }
  static std::string shown(const pb::Event& event) {
    const std::string at = "@" + std::to_string(event.step());
    if (event.has_file_version()) return "version";
    if (event.has_graph_def()) return "graph";
    if (event.has_session_log()) {
      const auto status = event.session_log().status();
      if (status == pb::SessionLog::STOP) return "STOP";
      return pb::SessionLog::SessionStatus_Name(status) + at;
    }
    std::string text;
    for (const pb::Summary::Value& v : event.summary().value()) {
      char number[32];
      std::snprintf(number, sizeof number, "%g", static_cast<double>(v.simple_value()));
      text += v.tag() + "=" + number + at;
    }
    return text;
  }
  std::vector<std::string> saved() const {
    std::vector<std::string> names;
    for (const std::string& name : posix_file_system().open_directory(logdir)->entries())
      if (name.starts_with("model.ckpt")) names.push_back(name);
    return names;
  }
  template <class Done>
  static void await(Done done) {
    while (!done()) std::this_thread::yield();
  }

  ServiceClock time;
  RunEnvironment timed{time,    *log,      posix_file_system(),
                       targets, interrupt, DirectSessionOptions{{1, 42}, make_queue, &time}};
  const std::string logdir;
};

}  // namespace belay::runtime::testing
