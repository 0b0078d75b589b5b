// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/random_shuffle_queue.h"

#include <gmock/gmock.h>

#include <thread>

#include "runtime/data/make_queue.h"
#include "tests/platform/fake_clock.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

class RandomShuffleQueueTest : public SessionTest {
 protected:
  static BoundedQueue::Options options(std::int64_t capacity, std::int64_t min_after_dequeue) {
    return {.name = "q",
            .type = "RandomShuffleQueue",
            .capacity = capacity,
            .pads = false,
            .min_after_dequeue = min_after_dequeue};
  }
  void put(Queue& queue, float value) {
    QueueElement e;
    const Tensor tensor(value);
    e.components.emplace_back(TensorView(tensor));
    queue.enqueue(std::move(e), token);
  }
  float take(Queue& queue) { return queue.dequeue(token).components[0].data<float>()[0]; }
  // 0 to 19 in the order in which a queue with this seed returns them.
  std::vector<float> order(std::uint64_t seed) {
    RandomShuffleQueue queue(options(20, 0), seed);
    for (const float v : sorted) put(queue, v);
    std::vector<float> taken;
    while (queue.size() > 0) taken.push_back(take(queue));
    return taken;
  }

  const std::vector<float> sorted{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19};
  CancellationSource source;
  FakeClock clock;
  CancelToken token{source, clock};
};

TEST_F(RandomShuffleQueueTest, EachElementComesOnceInAnOrderOfTheSeed) {
  EXPECT_THAT(order(1), UnorderedElementsAreArray(sorted));
  EXPECT_NE(order(1), sorted);
  EXPECT_EQ(order(1), order(1));
  EXPECT_NE(order(1), order(2));
}

TEST_F(RandomShuffleQueueTest, AnOpenOneKeepsSomeToChooseFromAndAClosedOneGivesThemAll) {
  RandomShuffleQueue queue(options(10, 2), 1);
  put(queue, 1);
  put(queue, 2);
  std::vector<float> taken;
  std::thread reader([&] {
    for (int i = 0; i < 3; ++i) taken.push_back(take(queue));
  });
  put(queue, 3);
  while (queue.size() > 2) std::this_thread::yield();
  EXPECT_EQ(queue.size(), 2);  // and the reader waits
  queue.close(false);
  reader.join();
  EXPECT_THAT(taken, UnorderedElementsAreArray({1.0f, 2.0f, 3.0f}));
  EXPECT_EQ(error_of([&] { take(queue); }),
            "OUT_OF_RANGE: RandomShuffleQueue 'q' is closed and has insufficient elements (requested 1, current size "
            "0)");
}

TEST_F(RandomShuffleQueueTest, WhatIsTooFewGoesBack) {
  RandomShuffleQueue queue(options(10, 0), 1);
  put(queue, 1);
  put(queue, 2);
  queue.close(false);
  EXPECT_NE(error_of([&] { queue.dequeue_many(3, false, token); }), "no error");
  EXPECT_EQ(queue.size(), 2);
  EXPECT_EQ(queue.dequeue_many(3, true, token).components[0].dims(), Dims{2});
}

TEST_F(RandomShuffleQueueTest, ANodeGivesOne) {
  const ops::QueueRef q = ops::random_shuffle_queue(g, 8, 1, {{DType::kFloat32, {}}}, 7, "shuffled");
  const std::unique_ptr<Queue> queue = make_queue(graph.node(q.handle.raw().node));
  EXPECT_EQ(queue->name(), "shuffled");
  EXPECT_NE(dynamic_cast<RandomShuffleQueue*>(queue.get()), nullptr);
  EXPECT_EQ(
      error_of([&] {
        ops::random_shuffle_queue(g, 8, 8, {{DType::kFloat32, {}}}, 0, "bad");
      }),
      "INVALID_ARGUMENT: node 'bad' (RandomShuffleQueue): attribute 'min_after_dequeue' must be >= 0 and less than "
      "the capacity");
}

}  // namespace
}  // namespace belay::runtime::testing
