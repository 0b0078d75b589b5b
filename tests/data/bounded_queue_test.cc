#include "runtime/data/bounded_queue.h"

#include <thread>

#include "runtime/data/fifo_queue.h"
#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

QueueElement element(Tensor value) {
  QueueElement e;
  e.components.emplace_back(TensorView(value));
  return e;
}

class BoundedQueueTest : public ::testing::Test {
 protected:
  float number(const QueueElement& e) { return e.components[0].data<float>()[0]; }
  CancellationSource source;
  FakeClock clock;
  CancelToken token{source, clock};
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
            "INVALID_ARGUMENT: queue 'q': elements of shapes [1] and [2] cannot be dequeued together; a "
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
