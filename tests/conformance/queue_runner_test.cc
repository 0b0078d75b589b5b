// SPDX-License-Identifier: Apache-2.0
// Section 25: threads that fill a session's queues.
#include "runtime/data/queue_runner.h"

#include <gmock/gmock.h>

#include "runtime/monitored/layers/monitored_session.h"
#include "runtime/monitored/layers/session_creator.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kLongestJoin = 10'000'000'000;

class QueueRunnerConformance : public MonitoredTest {
 protected:
  Output counter(const std::string& name) { return ops::variable(g, name, Tensor(std::int64_t{0})); }
  ops::QueueRef queue(const std::string& name, std::int64_t capacity = 10) {
    return ops::fifo_queue(g, capacity, {{DType::kInt64, {}}}, name);
  }
  static std::shared_ptr<OpQueueRunner> runner(OpQueueRunner::Options options) {
    return std::make_shared<OpQueueRunner>(std::move(options));
  }
  void start() {
    graph.finalize();
    session = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
  }
  void initialize() { session->run_once(graph.collection("variable_init")); }
  std::int64_t number(const Output& output) { return session->handle().run({output})[0].scalar<std::int64_t>(); }
  static void join(const std::vector<std::shared_ptr<Joinable>>& threads) {
    for (const auto& t : threads) EXPECT_TRUE(t->join_for(kLongestJoin)) << t->name();
  }
  static std::vector<std::string> names(const std::vector<std::shared_ptr<Joinable>>& threads) {
    std::vector<std::string> all;
    for (const auto& t : threads) all.push_back(t->name());
    return all;
  }

  std::shared_ptr<DirectSession> session;
  std::shared_ptr<Coordinator> coordinator = std::make_shared<Coordinator>(clock);
};

TEST_F(QueueRunnerConformance, QR_01_AnOperationThatEndsWithOutOfRangeEndsItsThreadCleanly) {
  const Output n = counter("n");
  const auto count = runner({.queue = queue("queue"), .enqueue_ops = {ops::count_up_to(n, 3)}});
  start();
  initialize();
  const auto threads = count->create_threads(session->handle(), nullptr);
  EXPECT_THAT(names(threads), ElementsAre("QueueRunnerThread-queue-CountUpTo"));
  join(threads);
  EXPECT_THAT(count->exceptions_raised(), IsEmpty());
  EXPECT_EQ(number(n), 3);
}

TEST_F(QueueRunnerConformance, QR_02_EachOfTwoOperationsRunsToItsOwnEnd) {
  const Output few = counter("few");
  const Output many = counter("many");
  const auto both =
      runner({.queue = queue("queue"), .enqueue_ops = {ops::count_up_to(few, 3), ops::count_up_to(many, 30)}});
  start();
  initialize();
  const auto threads = both->create_threads(session->handle(), nullptr);
  EXPECT_THAT(names(threads), ElementsAre("QueueRunnerThread-queue-CountUpTo", "QueueRunnerThread-queue-CountUpTo_1"));
  join(threads);
  EXPECT_THAT(both->exceptions_raised(), IsEmpty());
  EXPECT_EQ(number(few), 3);
  EXPECT_EQ(number(many), 30);
}

TEST_F(QueueRunnerConformance, QR_04_ARunnerMovesWhatThereIsAndClosesItsQueueAtTheEnd) {
  const ops::QueueRef source = queue("source");
  const Output put = ops::enqueue_many(source, {ops::constant(g, Tensor({2}, std::vector<std::int64_t>{10, 11}))});
  const Output close = ops::queue_close(source);
  const ops::QueueRef target = queue("target");
  const Output out = ops::dequeue(target, "take")[0];
  const auto mover = runner({.queue = target, .enqueue_ops = {ops::enqueue(target, ops::dequeue(source))}});
  start();
  session->handle().run({put});
  session->handle().run({close});
  const auto threads = mover->create_threads(session->handle(), nullptr);
  EXPECT_EQ(number(out), 10);
  EXPECT_EQ(number(out), 11);
  join(threads);
  EXPECT_THAT(mover->exceptions_raised(), IsEmpty());
  EXPECT_EQ(error_of([&] { number(out); }),
            "OUT_OF_RANGE: node 'take' (QueueDequeue): FIFOQueue 'target' is closed and has insufficient elements "
            "(requested 1, current size 0)");
}

TEST_F(QueueRunnerConformance, QR_05_UnderAStoppedCoordinatorNothingIsRun) {
  const Output n = counter("n");
  const auto count = runner({.queue = queue("queue"), .enqueue_ops = {ops::count_up_to(n, 3)}});
  start();
  initialize();
  coordinator->request_stop();
  const auto threads = count->create_threads(session->handle(), coordinator.get());
  EXPECT_THAT(names(threads),
              ElementsAre("QueueRunnerThread-queue-CountUpTo", "QueueRunnerThread-queue-close_on_stop"));
  coordinator->join();  // they are registered, and end
  for (const auto& t : threads) EXPECT_TRUE(t->join_for(0));
  EXPECT_THAT(count->exceptions_raised(), IsEmpty());
  EXPECT_EQ(number(n), 0);
}

TEST_F(QueueRunnerConformance, QR_07_AStopReleasesAnEnqueueOnAFullQueue) {
  const ops::QueueRef q = queue("queue", 1);
  const auto filler =
      runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{1}))})}});
  start();
  filler->create_threads(session->handle(), coordinator.get());
  while (session->queue(q.handle.raw().node).size() == 0) std::this_thread::yield();
  coordinator->request_stop();
  EXPECT_EQ(error_of([&] { coordinator->join({}, {.stop_grace_period_secs = 10}); }), "no error");
}

TEST_F(QueueRunnerConformance, QR_09_WhileItRunsInASessionItIsNotStartedThereAgain) {
  const ops::QueueRef q = queue("queue", 1);
  const auto filler =
      runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{1}))})}});
  start();
  EXPECT_THAT(filler->create_threads(session->handle(), coordinator.get()), SizeIs(2));
  EXPECT_THAT(filler->create_threads(session->handle(), coordinator.get()), IsEmpty());
  // Another session is another matter, and so is this one when the threads have ended.
  const auto other = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
  EXPECT_THAT(filler->create_threads(other->handle(), coordinator.get()), SizeIs(2));
  coordinator->request_stop();
  coordinator->join();
  coordinator->clear_stop();
  EXPECT_THAT(filler->create_threads(session->handle(), coordinator.get()), SizeIs(2));
  // The stop has closed the queue of this session for good.
  EXPECT_EQ(error_of([&] { coordinator->join(); }),
            "CANCELLED: node 'QueueEnqueue' (QueueEnqueue): FIFOQueue 'queue' is closed");
}

TEST_F(QueueRunnerConformance, QR_11_ItIsNamedByItsQueueAndListedByItsGraph) {
  std::shared_ptr<OpQueueRunner> first;
  {
    const auto scope = g.scope("input");
    const ops::QueueRef q = queue("queue");
    first = runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{1}))})}});
  }
  EXPECT_EQ(first->name(), "input/queue");
  EXPECT_THAT(graph.queue_runners(), IsEmpty());  // making one does not list it
  graph.add_queue_runner(first);
  ASSERT_THAT(graph.queue_runners(), SizeIs(1));
  EXPECT_EQ(graph.queue_runners()[0]->name(), "input/queue");
}

TEST_F(QueueRunnerConformance, QR_12_AllListedOnesAreStarted) {
  const Output a = counter("a");
  const Output b = counter("b");
  for (const auto& [name, n] : {std::pair{"first", a}, std::pair{"second", b}})
    graph.add_queue_runner(runner({.queue = queue(name), .enqueue_ops = {ops::count_up_to(n, 3)}}));
  start();
  initialize();
  const auto threads = start_queue_runners(*session);
  EXPECT_THAT(names(threads), ElementsAre("QueueRunnerThread-first-CountUpTo", "QueueRunnerThread-second-CountUpTo_1"));
  join(threads);
  EXPECT_EQ(number(a), 3);
  EXPECT_EQ(number(b), 3);
}

TEST_F(QueueRunnerConformance, QR_14_AMonitoredSessionHasStartedThemAlready) {
  const ops::QueueRef q = queue("queue", 1);
  ops::create_global_step(g);
  graph.add_queue_runner(
      runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{1}))})}}));
  MonitoredSession monitored(std::make_shared<ChiefSessionCreator>(graph, environment, ChiefSessionCreator::Options{}),
                             environment, hooks, {});
  monitored.scope([&] {
    EXPECT_THAT(start_queue_runners(*monitored.raw_session(), coordinator.get()), IsEmpty());
    EXPECT_THAT(coordinator->join(), IsEmpty());  // and none was registered
  });
}

TEST_F(QueueRunnerConformance, QR_15_TheSessionsGraphCountsNotAnotherOne) {
  NodeGraph another(*ops);
  const belay::Graph h = another.handle();
  const Output n = ops::variable(h, "n", Tensor(std::int64_t{0}));
  another.add_queue_runner(runner(
      {.queue = ops::fifo_queue(h, 10, {{DType::kInt64, {}}}, "other"), .enqueue_ops = {ops::count_up_to(n, 3)}}));
  start();
  EXPECT_THAT(start_queue_runners(*session, coordinator.get()), IsEmpty());
  another.finalize();
  session = std::make_shared<DirectSession>(another, std::make_shared<VariableStore>(), environment.session);
  session->run_once(another.collection("variable_init"));
  const auto threads = start_queue_runners(*session);
  EXPECT_THAT(names(threads), ElementsAre("QueueRunnerThread-other-CountUpTo"));
  join(threads);
  EXPECT_EQ(number(n), 3);
}

TEST_F(QueueRunnerConformance, QR_18_WithoutACoordinatorTheThreadsRunAtOnceAndEndWithTheSession) {
  const ops::QueueRef q = queue("queue", 1);
  const Output take = ops::dequeue(q)[0];
  graph.add_queue_runner(
      runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{7}))})}}));
  start();
  const auto threads = start_queue_runners(*session);
  EXPECT_THAT(names(threads), ElementsAre("QueueRunnerThread-queue-QueueEnqueue"));  // nothing to wait for a stop
  EXPECT_EQ(number(take), 7);
  session->close();
  join(threads);
}

TEST_F(QueueRunnerConformance, PROSE_25_AQueueWithoutAnOrderIsTold) {
  EXPECT_EQ(why_resume_is_approximate(graph), "");
  const Output one = ops::constant(g, Tensor(std::int64_t{1}));
  const ops::QueueRef shuffled = ops::random_shuffle_queue(g, 8, 2, {{DType::kInt64, {}}}, 1, "shuffled");
  const ops::QueueRef ordered = queue("ordered");
  graph.add_queue_runner(runner({.queue = shuffled, .enqueue_ops = {ops::enqueue(shuffled, {one})}}));
  graph.add_queue_runner(
      runner({.queue = ordered, .enqueue_ops = {ops::enqueue(ordered, {one}), ops::enqueue(ordered, {one})}}));
  EXPECT_EQ(why_resume_is_approximate(graph), "'shuffled' is a random-shuffle queue; 'ordered' is filled by 2 threads");
}

TEST_F(QueueRunnerConformance, PROSE_25_AQueueAndAnOperationAreNeeded) {
  const ops::QueueRef q = queue("queue");
  const Output put = ops::enqueue(q, {ops::constant(g, Tensor(std::int64_t{1}))});
  EXPECT_EQ(error_of([&] { runner({.queue = {}, .enqueue_ops = {put}}); }),
            "INVALID_ARGUMENT: [B3009] a queue runner needs a queue");
  EXPECT_EQ(error_of([&] { runner({.queue = q, .enqueue_ops = {}}); }),
            "INVALID_ARGUMENT: [B3009] a queue runner needs at least one enqueue operation");
  EXPECT_EQ(error_of([&] { runner({.queue = q, .enqueue_ops = {put}, .queue_closed_codes = {}}); }),
            "INVALID_ARGUMENT: [B3009] a queue runner needs at least one code that means a closed queue");
  EXPECT_THAT(OpQueueRunner::Options().queue_closed_codes, ElementsAre(Code::kOutOfRange));
}

TEST_F(QueueRunnerConformance, PROSE_25_AnotherErrorIsReportedToTheCoordinatorOrKept) {
  const ops::QueueRef q = queue("queue");
  const Output never = ops::variable(g, "never", ops::constant(g, Tensor(std::int64_t{1})));
  const auto bad = runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {never})}});
  start();
  join(bad->create_threads(session->handle(), nullptr));
  ASSERT_THAT(bad->exceptions_raised(), SizeIs(1));
  EXPECT_STREQ(bad->exceptions_raised()[0].what(), "[B5073] Attempting to use uninitialized value never");
  bad->create_threads(session->handle(), coordinator.get());
  EXPECT_EQ(error_of([&] { coordinator->join(); }),
            "FAILED_PRECONDITION: [B5073] Attempting to use uninitialized value never");
  EXPECT_THAT(bad->exceptions_raised(), IsEmpty());  // of the threads without a coordinator only
}

TEST_F(QueueRunnerConformance, PROSE_25_TheCodesThatMeanAClosedQueueAreTheCallers) {
  const ops::QueueRef q = queue("queue");
  const Output never = ops::variable(g, "never", ops::constant(g, Tensor(std::int64_t{1})));
  const auto lenient = runner({.queue = q,
                               .enqueue_ops = {ops::enqueue(q, {never})},
                               .queue_closed_codes = {Code::kFailedPrecondition, Code::kOutOfRange}});
  start();
  join(lenient->create_threads(session->handle(), nullptr));
  EXPECT_THAT(lenient->exceptions_raised(), IsEmpty());
  EXPECT_TRUE(session->queue(q.handle.raw().node).closed());
}

TEST_F(QueueRunnerConformance, PROSE_25_ACloseKeepsWhatIsInTheQueueAndACancelReleasesWhoWaits) {
  // The defaults: the thread that ends last closes, and a stop cancels; what is in the queue stays in both.
  const Output n = counter("n");
  const ops::QueueRef q = queue("queue", 1);
  const Output take = ops::dequeue(q)[0];
  const auto filler = runner({.queue = q, .enqueue_ops = {ops::enqueue(q, {ops::count_up_to(n, 5)})}});
  start();
  initialize();
  filler->create_threads(session->handle(), coordinator.get());
  Queue& filled = session->queue(q.handle.raw().node);
  while (filled.size() == 0) std::this_thread::yield();
  coordinator->request_stop();
  coordinator->join();
  EXPECT_TRUE(filled.closed());
  EXPECT_EQ(number(take), 1);
  // And with operations of the caller's own, those are run.
  EXPECT_EQ(filled.size(), 0);
}

TEST_F(QueueRunnerConformance, PROSE_25_CloseAndCancelOperationsMayBeTheCallers) {
  const Output closed = counter("closed");
  const Output cancelled = counter("cancelled");
  const Output n = counter("n");
  const Output one = ops::constant(g, Tensor(std::int64_t{1}));
  const auto counted = runner({.queue = queue("queue"),
                               .enqueue_ops = {ops::count_up_to(n, 2)},
                               .close_op = ops::assign_add(closed, one),
                               .cancel_op = ops::assign_add(cancelled, one)});
  start();
  initialize();
  const auto threads = counted->create_threads(session->handle(), coordinator.get());
  EXPECT_TRUE(threads[0]->join_for(kLongestJoin));
  EXPECT_EQ(number(closed), 1);
  EXPECT_EQ(number(cancelled), 0);
  coordinator->request_stop();
  coordinator->join();
  EXPECT_EQ(number(closed), 1);
  EXPECT_EQ(number(cancelled), 1);
}

}  // namespace
}  // namespace belay::runtime::testing
