// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/queue_runner.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <new>
#include <thread>

#include "runtime/data/make_queue.h"
#include "runtime/platform/process/resources.h"
#include "tests/data/failing_queue.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class QueueRunnerTest : public SessionTest {
 protected:
  std::shared_ptr<DirectSession> start() {
    graph.finalize();
    DirectSessionOptions options;
    options.queues = queues;
    shared = std::make_shared<DirectSession>(graph, store, options);
    return shared;
  }
  void initialize_variables() { shared->run_once(graph.collection("variable_init")); }
  QueueFactory queues = make_queue;
  std::shared_ptr<DirectSession> shared;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(system_clock());
};

TEST_F(QueueRunnerTest, AnOperationThatEndsWithOutOfRangeEndsItsThread) {
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const Output count = ops::count_up_to(n, 3);
  const ops::QueueRef queue = ops::fifo_queue(g, 10, {{DType::kInt64, {}}}, "queue");
  OpQueueRunner runner({.queue = queue, .enqueue_ops = {count}});
  start();
  initialize_variables();
  const auto threads = runner.create_threads(shared->handle(), nullptr);
  ASSERT_EQ(threads.size(), 1u);
  EXPECT_EQ(threads[0]->name(), "QueueRunnerThread-queue-CountUpTo");
  EXPECT_TRUE(threads[0]->join_for(10'000'000'000));
  EXPECT_TRUE(runner.exceptions_raised().empty());
  EXPECT_EQ(shared->handle().run({n})[0].scalar<std::int64_t>(), 3);
}

TEST_F(QueueRunnerTest, ItMovesElementsAndClosesItsQueueAtTheEnd) {
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const ops::QueueRef queue = ops::fifo_queue(g, 10, {{DType::kInt64, {}}}, "queue");
  const Output enqueue = ops::enqueue(queue, {ops::count_up_to(n, 2)});
  const std::vector<Output> out = ops::dequeue(queue);
  graph.add_queue_runner(
      std::make_shared<OpQueueRunner>(OpQueueRunner::Options{.queue = queue, .enqueue_ops = {enqueue}}));
  start();
  initialize_variables();
  start_queue_runners(*shared, coordinator.get());
  EXPECT_EQ(shared->handle().run({out[0]})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(shared->handle().run({out[0]})[0].scalar<std::int64_t>(), 2);
  EXPECT_EQ(
      error_of([&] { shared->handle().run({out[0]}); }),
      "OUT_OF_RANGE: node 'QueueDequeue' (QueueDequeue): FIFOQueue 'queue' is closed and has insufficient elements "
      "(requested 1, current size 0)");
  coordinator->request_stop();
  coordinator->join();
}

// QR-17: the close operation is for clean ends. Damaged input must not look like the end of it.
TEST_F(QueueRunnerTest, T_16c_ReadersOfAFillerThatFailedGetTheRestAndThenItsError) {
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const Output closed = ops::variable(g, "closed", Tensor(std::int64_t{0}));
  const ops::QueueRef queue = ops::fifo_queue(g, 10, {{DType::kInt64, {}}}, "queue");
  const Output count = ops::count_up_to(n, 2);
  const Output take = ops::dequeue(queue, "take")[0];
  // That the count is at its end is an error here.
  OpQueueRunner runner({.queue = queue,
                        .enqueue_ops = {ops::enqueue(queue, {count})},
                        .close_op = ops::assign_add(closed, ops::constant(g, Tensor(std::int64_t{1}))),
                        .queue_closed_codes = {Code::kAborted}});
  start();
  initialize_variables();
  for (const auto& t : runner.create_threads(shared->handle(), nullptr)) EXPECT_TRUE(t->join_for(10'000'000'000));
  ASSERT_EQ(runner.exceptions_raised().size(), 1u);
  const std::string failure = runner.exceptions_raised()[0].what();
  EXPECT_EQ(shared->handle().run({take})[0].scalar<std::int64_t>(), 1);
  EXPECT_EQ(shared->handle().run({take})[0].scalar<std::int64_t>(), 2);
  EXPECT_EQ(error_of([&] { shared->handle().run({take}); }), "OUT_OF_RANGE: node 'take' (QueueDequeue): " + failure);
  EXPECT_EQ(shared->handle().run({closed})[0].scalar<std::int64_t>(), 0);
}

TEST_F(QueueRunnerTest, T_16c_OneOfTwoFillersThatFailsLetsTheOtherFinish) {
  const Output few = ops::variable(g, "few", Tensor(std::int64_t{0}));
  const Output never = ops::variable(g, "never", ops::constant(g, Tensor(std::int64_t{1})));
  const ops::QueueRef queue = ops::fifo_queue(g, 10, {{DType::kInt64, {}}}, "queue");
  const Output take = ops::dequeue(queue, "take")[0];
  OpQueueRunner runner(
      {.queue = queue, .enqueue_ops = {ops::enqueue(queue, {ops::count_up_to(few, 3)}), ops::enqueue(queue, {never})}});
  start();
  shared->handle().assign("few", Tensor(std::int64_t{0}));
  for (const auto& t : runner.create_threads(shared->handle(), nullptr)) EXPECT_TRUE(t->join_for(10'000'000'000));
  for (std::int64_t v = 1; v <= 3; ++v) EXPECT_EQ(shared->handle().run({take})[0].scalar<std::int64_t>(), v);
  EXPECT_EQ(error_of([&] { shared->handle().run({take}); }),
            "FAILED_PRECONDITION: node 'take' (QueueDequeue): [B5073] Attempting to use uninitialized value never");
}

TEST_F(QueueRunnerTest, T_16c_WhateverElseAFillerFailsWithReachesTheReadersAndSaysWhatItDid) {
  const Output seven = ops::constant(g, Tensor(std::int64_t{7}));
  const ops::QueueRef queue = ops::fifo_queue(g, 10, {{DType::kInt64, {}}}, "queue");
  const Output take = ops::dequeue(queue, "take")[0];
  OpQueueRunner runner({.queue = queue, .enqueue_ops = {ops::enqueue(queue, {seven}, "put")}});
  const std::function<void()> failures[] = {[] { throw std::bad_alloc(); }, [] { throw std::logic_error("odd"); },
                                            [] { throw 7; }};
  const std::string errors[] = {"RESOURCE_EXHAUSTED", "UNKNOWN", "UNKNOWN"},
                    texts[] = {resource_shortage(std::bad_alloc()), "odd", "unknown exception type"};
  for (std::size_t i = 0; i < 3; ++i) {
    queues = failing_queues(failures[i]);
    start();
    for (const auto& t : runner.create_threads(shared->handle(), nullptr)) EXPECT_TRUE(t->join_for(10'000'000'000));
    for (int n = 0; n < 2; ++n) EXPECT_EQ(shared->handle().run({take})[0].scalar<std::int64_t>(), 7);
    const std::string text = "filling queue 'queue' by 'put': " + texts[i];
    EXPECT_EQ(error_of([&] { shared->handle().run({take}); }), errors[i] + ": node 'take' (QueueDequeue): " + text);
    ASSERT_EQ(runner.exceptions_raised().size(), 1u);
    EXPECT_EQ(runner.exceptions_raised()[0].message(), text);
  }
}

// The error of an enqueue on a queue that somebody closed is not why there is nothing more.
TEST_F(QueueRunnerTest, T_16c_AQueueThatWasClosedFromOutsideEndsAsOneThatIsClosed) {
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "queue");
  const Output take = ops::dequeue(queue, "take")[0], close = ops::queue_close(queue);
  OpQueueRunner runner(
      {.queue = queue, .enqueue_ops = {ops::enqueue(queue, {ops::constant(g, Tensor(std::int64_t{7}))})}});
  start();
  const auto threads = runner.create_threads(shared->handle(), nullptr);
  EXPECT_EQ(shared->handle().run({take})[0].scalar<std::int64_t>(), 7);
  shared->handle().run({close});
  std::string end;
  while ((end = error_of([&] { shared->handle().run({take}); })) == "no error") {
  }
  EXPECT_THAT(end, ::testing::HasSubstr("FIFOQueue 'queue' is closed and has insufficient elements"));
  EXPECT_TRUE(threads[0]->join_for(10'000'000'000));
}

TEST_F(QueueRunnerTest, AStopReleasesAnEnqueueOnAFullQueue) {
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kFloat32, {}}}, "queue");
  const Output enqueue = ops::enqueue(queue, {ops::constant(g, Tensor(1.0f))});
  OpQueueRunner runner({.queue = queue, .enqueue_ops = {enqueue}});
  start();
  const auto threads = runner.create_threads(shared->handle(), coordinator.get());
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[1]->name(), "QueueRunnerThread-queue-close_on_stop");
  EXPECT_TRUE(runner.create_threads(shared->handle(), coordinator.get()).empty());  // it runs already
  while (shared->queue(queue.handle.raw().node).size() == 0) std::this_thread::yield();
  coordinator->request_stop();
  coordinator->join({}, {.stop_grace_period_secs = 10});
}

TEST_F(QueueRunnerTest, CLU_06_ARunThatWaitsLongerThanItsTimeoutChangesNothing) {
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "queue");
  const Output add = ops::assign_add(n, ops::dequeue(queue)[0]);
  start();
  initialize_variables();
  RunOptions options;
  options.timeout_ms = 20;
  EXPECT_EQ(error_of([&] { shared->handle().run({add}, {}, options); }),
            "DEADLINE_EXCEEDED: node 'QueueDequeue' (QueueDequeue): the run did not finish before its timeout");
  EXPECT_EQ(shared->handle().run({n})[0].scalar<std::int64_t>(), 0);
}

TEST_F(QueueRunnerTest, CLU_06_ClosingTheSessionWakesAWaitingRun) {
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "queue");
  const Output take = ops::dequeue(queue)[0];
  start();
  std::string error;
  Thread waiter("waiter", [&] { error = error_of([&] { shared->handle().run({take}); }); });
  shared->close();
  EXPECT_TRUE(waiter.join_for(10'000'000'000));
  EXPECT_TRUE(error == "CANCELLED: node 'QueueDequeue' (QueueDequeue): the session was closed" ||
              error == "FAILED_PRECONDITION: [B5070] Attempted to use a closed session" ||
              error == "CANCELLED: the session was closed")
      << error;
}

TEST_F(QueueRunnerTest, AGraphThatWritesBeforeItWaitsIsDirtyWhenItFailsThere) {
  const Output n = ops::variable(g, "n", Tensor(std::int64_t{0}));
  const Output add = ops::assign_add(n, ops::constant(g, Tensor(std::int64_t{1})));
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kInt64, {}}}, "queue");
  Output late;
  {
    const auto after = g.after({add});
    late = ops::dequeue(queue)[0];
  }
  start();
  initialize_variables();
  RunOptions options;
  options.timeout_ms = 20;
  EXPECT_NE(error_of([&] { shared->handle().run({late}, {}, options); }), "no error");
  EXPECT_TRUE(store->dirty());
  EXPECT_EQ(shared->handle().run({n})[0].scalar<std::int64_t>(), 1);
}

TEST_F(QueueRunnerTest, TheStageAfterADequeueIsMadeOncePerShape) {
  const ops::QueueRef queue = ops::fifo_queue(g, 8, {{DType::kFloat32, {-1}}}, "queue");
  const Output in = ops::placeholder(g, DType::kFloat32, {-1}, "in");
  const Output put = ops::enqueue(queue, {in});
  const Output out = ops::dropout(ops::dequeue(queue)[0], 0.0);
  start();
  for (int i = 0; i < 6; ++i) {
    const auto n = static_cast<std::size_t>(i % 2 == 0 ? 3 : 2);
    shared->handle().run({put}, {{in, Tensor({static_cast<std::int64_t>(n)}, std::vector<float>(n, 1.0f))}});
  }
  FetchSet fetches(std::vector<FetchRef>{out});
  RunRequest request;
  request.fetches = &fetches;
  std::uint64_t programs = 0;
  for (int i = 0; i < 6; ++i) {
    const runtime::Run run = shared->run(request);
    EXPECT_EQ(TensorView(run.result(fetches, 0)).size(), i % 2 == 0 ? 3u : 2u);
    if (i == 1) programs = shared->plan_stats().programs_built;
  }
  EXPECT_EQ(shared->plan_stats().programs_built, programs);
}

// A variable goes into a queue as it was between two commits, never while it is written.
TEST_F(QueueRunnerTest, AnEnqueueOfAVariableIsNeverTorn) {
  constexpr std::int64_t kSize = 1 << 16;
  const Output v = ops::variable(g, "v", Tensor({kSize}, std::vector<float>(kSize, 0.0f)));
  const Output add = ops::assign_add(v, ops::constant(g, Tensor({kSize}, std::vector<float>(kSize, 1.0f))));
  const ops::QueueRef queue = ops::fifo_queue(g, 1, {{DType::kFloat32, Dims{kSize}}}, "queue");
  const Output put = ops::enqueue(queue, {v});
  const std::vector<Output> taken = ops::dequeue(queue);
  DirectSessionOptions options;
  options.queues = make_queue;
  open(options);
  initialize();
  std::atomic<bool> done{false};
  std::thread writer([&] {
    while (!done) run(add);
  });
  int torn = 0;
  for (int i = 0; i < 200; ++i) {
    run(put);
    const std::vector<float> got = values<float>(taken[0]);
    if (std::count(got.begin(), got.end(), got[0]) != kSize) ++torn;
  }
  done = true;
  writer.join();
  EXPECT_EQ(torn, 0);
}

}  // namespace
}  // namespace belay::runtime::testing
