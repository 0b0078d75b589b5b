// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/bounded_queue.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/data/fifo_queue.h"
#include "runtime/data/random_shuffle_queue.h"
#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::UnorderedElementsAre;

QueueElement element(Tensor value) {
  QueueElement e;
  e.components.emplace_back(TensorView(value));
  return e;
}

class BoundedQueueTest : public ::testing::Test {
 protected:
  float number(const QueueElement& e) { return e.components[0].data<float>()[0]; }
  void put(Queue& q, std::initializer_list<float> values) {
    for (const float v : values) q.enqueue(element(Tensor(v)), token);
  }
  std::vector<float> rest(Queue& q) {
    std::vector<float> all;
    while (q.size() > 0) all.push_back(number(q.dequeue(token)));
    return all;
  }
  CancellationSource source;
  FakeClock clock;
  CancelToken token{source, clock};
  // For who is to wait: clock.await_waiters() sees it. The clock does not move, unless the test moves it.
  CancelToken patient{source, clock, FakeClock::kSecond};
  FifoQueue queue{{.name = "q", .type = "FIFOQueue", .capacity = 2}};
};

TEST_F(BoundedQueueTest, FirstInFirstOut) {
  queue.enqueue(element(Tensor(1.0f)), token);
  queue.enqueue(element(Tensor(2.0f)), token);
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(number(queue.dequeue(token)), 1.0f);
  EXPECT_EQ(number(queue.dequeue(token)), 2.0f);
}

TEST_F(BoundedQueueTest, AClosedQueueGivesWhatIsLeftThenOutOfRange) {
  queue.enqueue(element(Tensor(1.0f)), token);
  queue.close(false);
  EXPECT_EQ(error_of([&] { queue.enqueue(element(Tensor(2.0f)), token); }), "CANCELLED: FIFOQueue 'q' is closed");
  EXPECT_EQ(number(queue.dequeue(token)), 1.0f);
  EXPECT_EQ(error_of([&] { queue.dequeue(token); }),
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST_F(BoundedQueueTest, AnErrorOfItsFillerComesAfterWhatIsLeft) {
  queue.enqueue(element(Tensor(1.0f)), token);
  queue.close_with_error(Error(Code::kDataLoss, "file x is truncated"));
  EXPECT_EQ(number(queue.dequeue(token)), 1.0f);
  EXPECT_EQ(error_of([&] { queue.dequeue(token); }), "DATA_LOSS: file x is truncated");
}

TEST_F(BoundedQueueTest, AWaitingReaderIsWokenByAnElementACloseAndACancel) {
  std::thread writer([&] { queue.enqueue(element(Tensor(3.0f)), token); });
  EXPECT_EQ(number(queue.dequeue(token)), 3.0f);
  writer.join();
  std::thread closer([&] { queue.close(false); });
  EXPECT_NE(error_of([&] { queue.dequeue(token); }), "no error");
  closer.join();
  FifoQueue other({.name = "r", .type = "FIFOQueue"});
  std::thread canceller([&] { source.cancel(Error(Code::kCancelled, "the session was closed")); });
  EXPECT_EQ(error_of([&] { other.dequeue(token); }), "CANCELLED: the session was closed");
  canceller.join();
}

TEST_F(BoundedQueueTest, AWriterOnAFullQueueIsReleasedByCancellingPendingOnes) {
  queue.enqueue(element(Tensor(1.0f)), token);
  queue.enqueue(element(Tensor(2.0f)), token);
  std::thread closer([&] { queue.close(true); });
  EXPECT_EQ(error_of([&] { queue.enqueue(element(Tensor(3.0f)), token); }), "CANCELLED: FIFOQueue 'q' is closed");
  closer.join();
  EXPECT_EQ(queue.size(), 2);
}

TEST_F(BoundedQueueTest, ADeadlinePassesByTheClock) {
  const CancelToken late(source, clock, 1'000'000'000);
  std::thread time([&] { clock.advance(2'000'000'000); });
  EXPECT_EQ(error_of([&] { queue.dequeue(late); }), "DEADLINE_EXCEEDED: the run did not finish before its timeout");
  time.join();
}

TEST_F(BoundedQueueTest, DequeueManyStacksAndPutsBackWhatIsTooFew) {
  queue.enqueue(element(Tensor({2}, {1.0f, 2.0f})), token);
  queue.enqueue(element(Tensor({2}, {3.0f, 4.0f})), token);
  queue.close(false);
  EXPECT_EQ(error_of([&] { queue.dequeue_many(3, false, token); }),
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 2)");
  const QueueElement two = queue.dequeue_many(3, true, token);
  EXPECT_EQ(two.components[0].dims(), (Dims{2, 2}));
  EXPECT_EQ(two.components[0].data<float>()[3], 4.0f);
}

TEST_F(BoundedQueueTest, ElementsOfDifferentShapesNeedAPaddingQueue) {
  queue.enqueue(element(Tensor({1}, {1.0f})), token);
  queue.enqueue(element(Tensor({2}, {2.0f, 3.0f})), token);
  EXPECT_EQ(error_of([&] { queue.dequeue_many(2, false, token); }),
            "INVALID_ARGUMENT: [B3001] queue 'q': elements of shapes [1] and [2] cannot be dequeued together; a "
            "PaddingFIFOQueue would pad them");
}

TEST_F(BoundedQueueTest, APaddingQueuePadsWithZerosAtTheEnds) {
  FifoQueue padding({.name = "p", .type = "PaddingFIFOQueue", .capacity = 3, .pads = true});
  padding.enqueue(element(Tensor({1, 2}, {1.0f, 2.0f})), token);
  padding.enqueue(element(Tensor({2, 1}, {3.0f, 4.0f})), token);
  padding.enqueue(element(Tensor({0, 0}, std::vector<float>{})), token);
  const QueueElement all = padding.dequeue_many(3, false, token);
  ASSERT_EQ(all.components[0].dims(), (Dims{3, 2, 2}));
  const float* v = all.components[0].data<float>();
  EXPECT_EQ(std::vector<float>(v, v + 12), (std::vector<float>{1, 2, 0, 0, 3, 0, 4, 0, 0, 0, 0, 0}));
}

TEST_F(BoundedQueueTest, T_05a_AnEnqueueThatWaitsWhenItIsClosedComesInAndIsDequeued) {
  put(queue, {1, 2});
  std::string said;
  std::thread writer([&] { said = error_of([&] { queue.enqueue(element(Tensor(3.0f)), patient); }); });
  clock.await_waiters(1);
  queue.close(false);
  std::vector<float> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(number(queue.dequeue(token)));  // the third waits for the writer
  writer.join();
  EXPECT_EQ(said, "no error");
  EXPECT_THAT(taken, ElementsAre(1, 2, 3));
  EXPECT_EQ(error_of([&] { queue.dequeue(token); }),
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST_F(BoundedQueueTest, T_05a_SeveralAtOnceComeInBehindACloseToo) {
  std::vector<QueueElement> elements;
  for (const float v : {1.0f, 2.0f, 3.0f, 4.0f, 5.0f}) elements.push_back(element(Tensor(v)));
  std::string said;
  std::thread writer([&] { said = error_of([&] { queue.enqueue_many(std::move(elements), patient); }); });
  clock.await_waiters(1);
  queue.close(false);
  EXPECT_EQ(error_of([&] { queue.enqueue(element(Tensor(6.0f)), token); }), "CANCELLED: FIFOQueue 'q' is closed");
  const QueueElement all = queue.dequeue_many(9, true, token);
  writer.join();
  EXPECT_EQ(said, "no error");
  EXPECT_EQ(all.components[0].dims(), Dims{5});
  EXPECT_EQ(all.components[0].data<float>()[4], 5);
}

// The readers wait for the enqueue that was pending; when that is cancelled nothing more comes.
TEST_F(BoundedQueueTest, T_05a_AnEnqueueThatIsLateEndsTheReadersOfAClosedQueue) {
  put(queue, {1, 2});
  std::string said, read;
  std::thread writer([&] { said = error_of([&] { queue.enqueue(element(Tensor(3.0f)), patient); }); });
  clock.await_waiters(1);
  queue.close(true);
  writer.join();
  EXPECT_EQ(said, "CANCELLED: FIFOQueue 'q' is closed");
  EXPECT_THAT(rest(queue), ElementsAre(1, 2));
  EXPECT_EQ(error_of([&] { queue.dequeue(token); }),
            "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 1, current size 0)");
}

TEST_F(BoundedQueueTest, T_05a_AShuffleQueueTakesThemInToo) {
  RandomShuffleQueue shuffled({.name = "s", .type = "RandomShuffleQueue", .capacity = 2, .min_after_dequeue = 1}, 1);
  put(shuffled, {1, 2});
  std::thread writer([&] { shuffled.enqueue(element(Tensor(3.0f)), patient); });
  clock.await_waiters(1);
  shuffled.close(false);
  std::vector<float> taken;
  for (int i = 0; i < 3; ++i) taken.push_back(number(shuffled.dequeue(token)));
  writer.join();
  EXPECT_THAT(taken, UnorderedElementsAre(1, 2, 3));
}

TEST_F(BoundedQueueTest, T_05b_ADequeueBehindAFailedDequeueManyGetsWhatThatGivesBack) {
  put(queue, {1, 2});
  std::string many;
  std::thread gatherer([&] { many = error_of([&] { queue.dequeue_many(3, false, patient); }); });
  clock.await_waiters(1);
  EXPECT_EQ(queue.size(), 0);
  float one = 0;
  std::thread reader([&] { one = number(queue.dequeue(patient)); });
  clock.await_waiters(2);
  queue.close(false);
  gatherer.join(), reader.join();
  EXPECT_EQ(many, "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 3, current size 2)");
  EXPECT_EQ(one, 1);
  EXPECT_THAT(rest(queue), ElementsAre(2));
}

TEST_F(BoundedQueueTest, T_05c_WhatIsGivenBackIsWholeAndInOrderThoughOthersFilledItsPlaces) {
  std::string many;
  std::thread gatherer([&] { many = error_of([&] { queue.dequeue_many(5, false, token); }); });
  put(queue, {1, 2, 3, 4});
  while (queue.size() > 0) std::this_thread::yield();
  queue.close(false);
  gatherer.join();
  EXPECT_EQ(many, "OUT_OF_RANGE: FIFOQueue 'q' is closed and has insufficient elements (requested 5, current size 4)");
  EXPECT_EQ(queue.size(), 4);
  EXPECT_THAT(rest(queue), ElementsAre(1, 2, 3, 4));
}

TEST_F(BoundedQueueTest, T_05c_AQueueThatHoldsMoreThanItsCapacityTakesNoMoreUntilThereIsRoom) {
  std::string many;
  std::thread gatherer([&] { many = error_of([&] { queue.dequeue_many(5, false, patient); }); });
  put(queue, {1, 2, 3});
  while (queue.size() > 0) std::this_thread::yield();
  clock.await_waiters(1);
  clock.advance(FakeClock::kSecond);
  gatherer.join();
  EXPECT_EQ(many, "DEADLINE_EXCEEDED: the run did not finish before its timeout");
  const CancelToken later(source, clock, 2 * FakeClock::kSecond);
  std::thread writer([&] { queue.enqueue(element(Tensor(4.0f)), later); });
  clock.await_waiters(1);
  EXPECT_EQ(queue.size(), 3);
  std::vector<float> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(number(queue.dequeue(token)));
  writer.join();
  EXPECT_THAT(taken, ElementsAre(1, 2, 3, 4));
}

TEST_F(BoundedQueueTest, T_05d_ALateOrCancelledDequeueManyLosesNothing) {
  put(queue, {1, 2});
  std::string late, cancelled;
  std::thread first([&] { late = error_of([&] { queue.dequeue_many(3, false, patient); }); });
  clock.await_waiters(1);
  clock.advance(FakeClock::kSecond);
  first.join();
  EXPECT_EQ(late, "DEADLINE_EXCEEDED: the run did not finish before its timeout");
  EXPECT_EQ(queue.size(), 2);
  const CancelToken later(source, clock, 2 * FakeClock::kSecond);
  std::thread second([&] { cancelled = error_of([&] { queue.dequeue_many(3, false, later); }); });
  clock.await_waiters(1);
  source.cancel(Error(Code::kCancelled, "the session was closed"));
  second.join();
  source.reset();
  EXPECT_EQ(cancelled, "CANCELLED: the session was closed");
  EXPECT_THAT(rest(queue), ElementsAre(1, 2));
}

TEST_F(BoundedQueueTest, T_05d_ElementsThatCannotBeStackedStay) {
  queue.enqueue(element(Tensor({1}, {1.0f})), token);
  queue.enqueue(element(Tensor({2}, {2.0f, 3.0f})), token);
  EXPECT_NE(error_of([&] { queue.dequeue_many(2, false, token); }), "no error");
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(queue.dequeue(token).components[0].dims(), Dims{1});
  EXPECT_EQ(queue.dequeue(token).components[0].dims(), Dims{2});
}

TEST_F(BoundedQueueTest, T_05d_BehindAnErrorOfTheFillerTheRestComesFirst) {
  put(queue, {1, 2});
  queue.close_with_error(Error(Code::kDataLoss, "file x is truncated"));
  EXPECT_EQ(error_of([&] { queue.dequeue_many(3, false, token); }), "DATA_LOSS: file x is truncated");
  EXPECT_EQ(queue.dequeue_many(3, true, token).components[0].dims(), Dims{2});
  EXPECT_EQ(error_of([&] { queue.dequeue_many(3, true, token); }), "DATA_LOSS: file x is truncated");
}

// A writer that comes later, and finds room, lets the one that waits go first.
TEST_F(BoundedQueueTest, T_135_EnqueuesThatWaitComeInByTheirOrder) {
  put(queue, {1, 2});
  std::vector<std::thread> writers;
  for (const float v : {3.0f, 4.0f, 5.0f}) {
    writers.emplace_back([&, v] { queue.enqueue(element(Tensor(v)), patient); });
    clock.await_waiters(writers.size());
  }
  std::vector<float> taken;
  for (int i = 0; i < 4; ++i) taken.push_back(number(queue.dequeue(token)));
  put(queue, {6});
  for (std::thread& writer : writers) writer.join();
  for (int i = 0; i < 2; ++i) taken.push_back(number(queue.dequeue(token)));
  EXPECT_THAT(taken, ElementsAre(1, 2, 3, 4, 5, 6));
}

TEST_F(BoundedQueueTest, T_135_AWriterThatGivesUpLetsTheNextOneIn) {
  put(queue, {1, 2});
  CancellationSource other;
  const CancelToken impatient{other, clock, FakeClock::kSecond};
  std::string said;
  std::thread first([&] { said = error_of([&] { queue.enqueue(element(Tensor(3.0f)), impatient); }); });
  clock.await_waiters(1);
  std::thread second([&] { queue.enqueue(element(Tensor(4.0f)), patient); });
  clock.await_waiters(2);
  other.cancel(Error(Code::kCancelled, "enough"));
  first.join();
  EXPECT_EQ(said, "CANCELLED: enough");
  EXPECT_EQ(number(queue.dequeue(token)), 1);
  second.join();
  EXPECT_THAT(rest(queue), ElementsAre(2, 4));
}

TEST_F(BoundedQueueTest, T_135_ReadersThatWaitAreServedByTheirOrder) {
  float first = 0, second = 0;
  std::thread one([&] { first = number(queue.dequeue(patient)); });
  clock.await_waiters(1);
  std::thread two([&] { second = number(queue.dequeue(patient)); });
  clock.await_waiters(2);
  put(queue, {1, 2});
  one.join(), two.join();
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST_F(BoundedQueueTest, T_11_AnElementOfAnotherShapeIsRefusedByEnqueue) {
  FifoQueue pairs(
      {.name = "p", .type = "FIFOQueue", .capacity = 4, .dtypes = {DType::kFloat32}, .shapes = {Shape({-1, 2})}});
  const std::string error =
      "INVALID_ARGUMENT: [B3001] queue 'p': component 0 of an element must have the shape [?, 2], got ";
  EXPECT_EQ(error_of([&] { pairs.enqueue(element(Tensor(1.0f)), token); }), error + "[]");
  EXPECT_EQ(error_of([&] { pairs.enqueue(element(Tensor({1, 3}, {1.0f, 2.0f, 3.0f})), token); }), error + "[1, 3]");
  std::vector<QueueElement> second_is_wrong;
  second_is_wrong.push_back(element(Tensor({1, 2}, {1.0f, 2.0f})));
  second_is_wrong.push_back(element(Tensor({2}, {1.0f, 2.0f})));
  EXPECT_EQ(error_of([&] { pairs.enqueue_many(std::move(second_is_wrong), token); }), error + "[2]");
  EXPECT_EQ(pairs.size(), 0) << "of several none comes in";
  pairs.enqueue(element(Tensor({1, 2}, {1.0f, 2.0f})), token);
  EXPECT_EQ(pairs.size(), 1);
}

TEST_F(BoundedQueueTest, WhoWaitsForAnElementLearnsThatThereIsOneOrThatNoneComes) {
  bool there = false;
  std::thread waiter([&] { there = queue.wait_for_element(patient); });
  clock.await_waiters(1);
  put(queue, {1});
  waiter.join();
  EXPECT_TRUE(there);
  EXPECT_EQ(queue.size(), 1) << "it takes nothing";
  queue.close(false);
  EXPECT_TRUE(queue.wait_for_element(token));
  queue.dequeue(token);
  EXPECT_FALSE(queue.wait_for_element(token));
}

TEST_F(BoundedQueueTest, WhoWaitsForAnElementLearnsWhyNoneComes) {
  put(queue, {1});
  queue.close_with_error(Error(Code::kDataLoss, "damaged"));
  EXPECT_TRUE(queue.wait_for_element(token));
  queue.dequeue(token);
  EXPECT_EQ(error_of([&] { queue.wait_for_element(token); }), "DATA_LOSS: damaged");
}

TEST_F(BoundedQueueTest, ReopenedItIsEmptyAndHasForgottenWhyItWasClosed) {
  put(queue, {1, 2});
  queue.close_with_error(Error(Code::kDataLoss, "damaged"));
  queue.reopen();
  EXPECT_FALSE(queue.closed());
  EXPECT_EQ(queue.size(), 0);
  put(queue, {3, 4});
  queue.close(false);
  EXPECT_THAT(rest(queue), ElementsAre(3, 4));
  EXPECT_FALSE(queue.wait_for_element(token));
}

TEST_F(BoundedQueueTest, PositionsAreThoseOfTheLastElement) {
  const std::string name = "train";
  for (const std::int64_t i : {32, 64}) {
    QueueElement e = element(Tensor(0.0f));
    e.input = &name;
    e.position = {0, i};
    queue.enqueue(std::move(e), token);
  }
  const QueueElement both = queue.dequeue_many(2, false, token);
  EXPECT_EQ(*both.input, "train");
  EXPECT_EQ(both.position.index, 64);
}

}  // namespace
}  // namespace belay::runtime::testing
