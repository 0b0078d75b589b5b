// SPDX-License-Identifier: Apache-2.0
// Steps of several batches: [optimizer] accumulate, and ops::mean_over_batches below it.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "plugins/default_plugins.h"
#include "runtime/data/make_queue.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

// Fits y = 3 x + 2 on a queue of 64 examples.
struct Line final : SessionTest {
  Line(std::int64_t batch, std::int64_t accumulate, const char* optimizer = "sgd") {
    OptimizerSettings settings;
    settings.name = optimizer;
    settings.learning_rate.learning_rate = 0.125;
    settings.clip_norm = 2;
    settings.accumulate = accumulate;
    queue = ops::fifo_queue(g, 64, {{DType::kFloat64, {}}}, "q");
    std::vector<double> xs;
    for (int i = 0; i < 64; ++i) xs.push_back(((i * 37) % 64 - 31.5) / 32);
    fill = ops::enqueue_many(queue, {ops::constant(g, Tensor({64}, xs))});
    left = ops::queue_size(queue);
    const Output x = ops::dequeue_many(queue, batch)[0];
    w = ops::variable(g, "w", Tensor(0.0));
    b = ops::variable(g, "b", Tensor(0.0));
    loss = ops::reduce_mean(ops::square(w * x + b - (x * 3.0 + 2.0)));
    train = minimize(g, loss, LinkedOptimizer(settings, default_plugins()).use());
    DirectSessionOptions options;
    options.queues = make_queue;
    open(options);
    initialize();
    SessionTest::run(fill);
  }
  void TestBody() override {}
  using SessionTest::run, SessionTest::session, SessionTest::value;

  ops::QueueRef queue;
  Output fill, left, w, b, loss, train;
};

// The bound: sums of float64 in another order.
TEST(StepBatches, FourOf4AreOneOf16) {
  for (const char* optimizer : {"sgd", "adam", "momentum"}) {
    Line one(16, 1, optimizer), four(4, 4, optimizer);
    for (int step = 0; step < 4; ++step) {
      one.run(one.train);
      four.run(four.train);
      EXPECT_NEAR(one.value<double>(one.w), four.value<double>(four.w), 1e-13) << optimizer;
      EXPECT_NEAR(one.value<double>(one.b), four.value<double>(four.b), 1e-13) << optimizer;
    }
    EXPECT_NE(four.value<double>(four.w), 0);
  }
}

TEST(StepBatches, AStepTakesThemAllAndCommitsOnce) {
  Line line(4, 4);
  line.run(line.train);
  EXPECT_EQ(line.session().global_step(), 1);
  EXPECT_EQ(line.value<std::int64_t>(line.left), 64 - 16);
  line.run(line.train);
  EXPECT_EQ(line.session().global_step(), 2);
  EXPECT_EQ(line.value<std::int64_t>(line.left), 64 - 32);
}

TEST(StepBatches, AStepWhoseInputEndsHalfWayChangesNothing) {
  Line line(6, 4);  // 24 of 64, 24 of 40, and then 16
  line.run(line.train);
  line.run(line.train);
  const double w = line.value<double>(line.w);
  line.session().queue(line.queue.handle.raw().node).close(false);
  EXPECT_NE(error_of([&] { line.run(line.train); }).find("OUT_OF_RANGE"), std::string::npos);
  EXPECT_EQ(line.value<double>(line.w), w);
  EXPECT_EQ(line.session().global_step(), 2);
  EXPECT_FALSE(line.session().store().dirty());
}

class MeanOverBatches : public SessionTest {
 protected:
  DirectSession& start(int threads = 1) {
    DirectSessionOptions options;
    options.queues = make_queue;
    options.threads = threads;
    return open(options);
  }
  // A queue with the numbers 1 to `n`, and the operation that fills it.
  ops::QueueRef numbers(std::int64_t n, const char* name) {
    const ops::QueueRef q = ops::fifo_queue(g, 64, {{DType::kFloat64, {}}}, name);
    std::vector<double> values;
    for (std::int64_t i = 1; i <= n; ++i) values.push_back(static_cast<double>(i));
    fill_.push_back(ops::enqueue_many(q, {ops::constant(g, Tensor({n}, values))}));
    return q;
  }
  void fill() {
    for (const Output& put : fill_) run(put);
  }

 private:
  std::vector<Output> fill_;
};

TEST_F(MeanOverBatches, WhatIsBesideThemIsOfTheLastBatch) {
  const Output x = ops::dequeue(numbers(12, "q"))[0];
  const Output mean = ops::mean_over_batches(x, 4), doubled = mean * 2.0;
  start();
  fill();
  const RunResult first = session().handle().run({mean, x, doubled});
  EXPECT_EQ(first[0].scalar<double>(), 2.5);
  EXPECT_EQ(first[1].scalar<double>(), 4);
  EXPECT_EQ(first[2].scalar<double>(), 5);
  EXPECT_EQ(value<double>(mean), 6.5);
  EXPECT_EQ(value<double>(x), 9) << "without a mean a run takes one";
}

TEST_F(MeanOverBatches, WhatNoMeanDependsOnRunsOnce) {
  const Output x = ops::dequeue(numbers(8, "q"))[0];
  const Output other = ops::dequeue(numbers(8, "other"))[0];
  const Output mean = ops::mean_over_batches(x, 4);
  start();
  fill();
  for (const double wanted : {1.0, 2.0}) {
    const RunResult r = session().handle().run({mean, other});
    EXPECT_EQ(r[1].scalar<double>(), wanted);
  }
}

TEST_F(MeanOverBatches, ABatchMayHaveFewerRowsThanTheOnesBefore) {
  const ops::QueueRef q = numbers(5, "q");
  const Output rows = ops::dequeue_up_to(q, 3)[0];
  const Output mean = ops::mean_over_batches(ops::reduce_sum(rows), 2);
  start();
  fill();
  session().queue(q.handle.raw().node).close(false);
  EXPECT_EQ(value<double>(mean), (1 + 2 + 3 + 4 + 5) / 2.0);
}

TEST_F(MeanOverBatches, AnotherShapeIsAnError) {
  const ops::QueueRef q = numbers(5, "q");
  const Output mean = ops::mean_over_batches(ops::dequeue_up_to(q, 3)[0], 2, "mean");
  start();
  fill();
  session().queue(q.handle.raw().node).close(false);
  EXPECT_EQ(error_of([&] { run(mean); }),
            "INVALID_ARGUMENT: node 'mean' (MeanOverBatches): the value of one batch of the step is of shape [3], that "
            "of a later one of [2]; a mean needs the same");
}

TEST_F(MeanOverBatches, RandomNumbersAreOthersForEachBatch) {
  const Output drawn = ops::random_uniform(g, {3}, 0, 1, DType::kFloat64);
  const Output mean = ops::mean_over_batches(drawn, 2);
  start();
  const RunResult r = session().handle().run({mean, drawn});
  const RunResult again = session().handle().run({mean, drawn});
  for (int i = 0; i < 3; ++i) {
    const double last = r[1].data<const double>()[i], first = 2 * r[0].data<const double>()[i] - last;
    EXPECT_GT(std::abs(first - last), 1e-6);
    EXPECT_EQ(r[0].data<const double>()[i], again[0].data<const double>()[i]) << "the same step";
  }
}

TEST_F(MeanOverBatches, ThreadsChangeNoBit) {
  const Output drawn = ops::random_uniform(g, {100'003}, 0, 1);
  const Output mean = ops::mean_over_batches(drawn, 3);
  start();
  const std::vector<float> one = values<float>(mean);
  DirectSession two(graph, store, {{.threads = 2}, make_queue});
  FetchSet fetches(std::vector<FetchRef>{mean});
  RunRequest request;
  request.fetches = &fetches;
  request.full_team = true;
  const runtime::Run made = two.run(request);
  const TensorView other(made.result(fetches, 0));
  ASSERT_EQ(other.size(), one.size());
  EXPECT_EQ(std::memcmp(other.data(), one.data(), other.bytes()), 0);
}

TEST_F(MeanOverBatches, AGradientPasses) {
  const Output x = ops::variable(g, "x", Tensor({2}, {3.0, 4.0}));
  const Output y = ops::reduce_sum(ops::square(ops::mean_over_batches(x, 2)));
  const Output gradient = g.gradients({y}, {x})[0];
  start();
  initialize();
  EXPECT_EQ(values<double>(gradient), (std::vector<double>{6, 8}));
}

TEST_F(MeanOverBatches, AllOfARunAreOverAsMany) {
  const Output x = ops::dequeue(numbers(8, "q"))[0];
  const Output two = ops::mean_over_batches(x, 2, "two"), three = ops::mean_over_batches(x, 3, "three");
  start();
  EXPECT_EQ(
      error_of([&] {
        session().handle().run({two, three});
      }),
      "INVALID_ARGUMENT: [B5078] node 'two' is a mean over 2 batches, another one of this run over 3; the batches of a "
      "step are as many");
}

TEST_F(MeanOverBatches, WhatWritesIsNotRepeated) {
  const Output x = ops::variable(g, "x", Tensor(1.0));
  const Output written = ops::assign_add(x, ops::scalar(g, 1, DType::kFloat64), "write");
  const Output mean = ops::mean_over_batches(written * 1.0, 2, "mean");
  start();
  initialize();
  EXPECT_NE(error_of([&] { run(mean); }).find("'write' writes a variable"), std::string::npos);
  EXPECT_EQ(value<double>(x), 1);
}

}  // namespace
}  // namespace belay::runtime::testing
