// SPDX-License-Identifier: Apache-2.0
// The steps of one of two ranks whose peer is not there: what the session does with buckets.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "belay/ops/embedding.h"
#include "belay/ops/losses.h"
#include "belay/ops/matmul.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/testing/allocations.h"
#include "plugins/default_plugins.h"
#include "runtime/cluster/gradient_buckets.h"
#include "runtime/graph/step_ranks.h"
#include "runtime/monitored/model/build_model.h"
#include "tests/session/session_fixture.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::int64_t kRows = 8, kColumns = 6;

// Counts the looks at it, and lets another thread wait for that: a traced run looks before and after each operation.
class CountedClock final : public Clock {
 public:
  std::int64_t monotonic_ns() const override {
    const std::lock_guard lock(mutex_);
    looked_.notify_all();
    return 1000 * ++looks_;
  }
  std::int64_t wall_ns() const override { return monotonic_ns(); }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t) override {}
  std::int64_t looks() const {
    const std::lock_guard lock(mutex_);
    return looks_;
  }
  void await(std::int64_t looks) const {
    std::unique_lock lock(mutex_);
    looked_.wait(lock, [&] { return looks_ >= looks; });
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable looked_;
  mutable std::int64_t looks_ = 0;
};

// Half of the rows are its own, and the peer's gradients are the same.
class RankOfTwo final : public StepRanks {
 public:
  using Before = std::function<void(std::size_t bucket)>;
  void make(const NodeGraph& graph, Before begins, Before sums) {
    begins_ = std::move(begins);
    buckets_ = std::make_unique<GradientBuckets>(
        buckets_of(graph),
        [this, sums = std::move(sums)](const TensorView& values, bool) {
          if (sums) sums(summed_);
          summed_ = summed_ + 1 == buckets_->sizes().size() ? 0 : summed_ + 1;
          auto* to = static_cast<float*>(const_cast<void*>(values.data()));
          for (std::size_t i = 0; i < values.size(); ++i) to[i] *= 2;
        },
        [] {}, GradientBuckets::Gather{2, [](const TensorView& mine, const TensorView& all) {
                                         auto* const to = static_cast<char*>(all.mutable_data());
                                         std::memcpy(to, mine.data(), mine.bytes());
                                         std::memcpy(to + mine.bytes(), mine.data(), mine.bytes());
                                       }});
  }
  std::size_t count() const { return buckets_->sizes().size(); }
  const std::vector<GradientBuckets::Size>& sizes() const { return buckets_->sizes(); }

  double share() const override { return 0.5; }
  float* bucket(std::size_t number) override { return buckets_->memory(number); }
  void begin(std::size_t number) override {
    if (begins_) begins_(number);
    buckets_->begin(number);
  }
  void wait() override { buckets_->wait(); }
  float* records(std::size_t number, std::int64_t count, std::int64_t room) override {
    return buckets_->records(number, count, room);
  }
  RowsOfRanks rows(std::size_t number) override { return buckets_->rows(number); }
  const std::vector<std::pair<const std::string*, Position>>& others_took() const override { return none_; }

 private:
  std::unique_ptr<GradientBuckets> buckets_;
  Before begins_;
  std::size_t summed_ = 0;
  std::vector<std::pair<const std::string*, Position>> none_;
};

// The same batch again and again.
class OneBatch final : public QueueOfRanks {
 public:
  OneBatch(StepRanks& ranks, std::string name) : ranks_(ranks), name_(std::move(name)) {
    DenseTensor& x = batch_.emplace_back(DType::kFloat32, Dims{kRows, kColumns});
    for (std::int64_t i = 0; i < x.elements(); ++i) x.data<float>()[i] = static_cast<float>(i * 7 % 11) / 11 - 0.4f;
    DenseTensor& y = batch_.emplace_back(DType::kInt64, Dims{kRows});
    for (std::int64_t i = 0; i < kRows; ++i) y.data<std::int64_t>()[i] = i % 3;
  }
  StepRanks& ranks() noexcept override { return ranks_; }
  QueueElement dequeue(const CancelToken&) override { return {spare_.empty() ? batch_ : take_spare(), nullptr, {}}; }
  void recycle(QueueElement element) override { spare_ = std::move(element.components); }
  QueueElement spare() override { return {}; }
  void enqueue(QueueElement, const CancelToken&) override {}
  void enqueue_many(std::vector<QueueElement>, const CancelToken&) override {}
  bool wait_for_element(const CancelToken&) override { return true; }
  QueueElement dequeue_many(std::int64_t, bool, const CancelToken&) override { return {batch_, nullptr, {}}; }
  void close(bool) override {}
  void close_with_error(const Error&) override {}
  void reopen() override {}
  bool closed() const override { return false; }
  std::int64_t size() const override { return 1; }
  const std::string& name() const override { return name_; }

 private:
  // The list that came back, filled again: it needs no memory.
  std::vector<DenseTensor> take_spare() {
    std::vector<DenseTensor> list = std::move(spare_);
    spare_.clear();
    list.assign(batch_.begin(), batch_.end());
    return list;
  }

  StepRanks& ranks_;
  const std::string name_;
  std::vector<DenseTensor> batch_, spare_;
};

class StepBuckets : public SessionTest {
 protected:
  // Three layers; each variable's gradient has a bucket, unless there is one for all.
  void build(double bucket_mib, const OptimizerSettings& settings = {.name = "adam"}, bool rounds = false) {
    const ops::QueueRef queue =
        ops::fifo_queue(g, 2, {{DType::kFloat32, {kRows, kColumns}}, {DType::kInt64, {kRows}}}, "train_queue");
    const std::vector<Output> batch = ops::dequeue(queue, "batch");
    Output x = batch[0];
    for (int layer = 0; layer < 3; ++layer) x = ops::relu(ops::dense(x, 16, {}));
    outputs_.loss = ops::softmax_cross_entropy(ops::dense(x, 3, {}), batch[1]);
    const LinkedOptimizer optimizer(settings, default_plugins());
    add_train_op_over_ranks(graph, optimizer.use(), batch[0],
                            {.ranks = 2, .bucket_mib = bucket_mib, .rounds_gradients = rounds}, outputs_);
  }
  // The labels are ids of rows of a table. With `also_densely` the loss has the table as a whole, too, times 0.
  void build_with_table(const OptimizerSettings& settings, bool also_densely) {
    const ops::QueueRef queue =
        ops::fifo_queue(g, 2, {{DType::kFloat32, {kRows, kColumns}}, {DType::kInt64, {kRows}}}, "train_queue");
    const std::vector<Output> batch = ops::dequeue(queue, "batch");
    std::vector<float> initial(5 * kColumns);
    for (std::size_t i = 0; i < initial.size(); ++i) initial[i] = static_cast<float>(i % 7) * 0.125F;
    const Output table = ops::variable(g, "table", Tensor({5, kColumns}, initial));
    const Output x = ops::concat({batch[0], ops::gather(table, batch[1])}, 1);
    outputs_.loss = ops::softmax_cross_entropy(ops::dense(x, 3, {}), batch[1]);
    if (also_densely) outputs_.loss = outputs_.loss + ops::reduce_sum(table) * ops::scalar(g, 0, DType::kFloat32);
    const LinkedOptimizer optimizer(settings, default_plugins());
    add_train_op_over_ranks(graph, optimizer.use(), batch[0], {.ranks = 2, .bucket_mib = 4}, outputs_);
  }
  void start(RankOfTwo::Before begins = {}, RankOfTwo::Before sums = {}) {
    DirectSessionOptions options;
    options.clock = &clock;
    options.queues = [this](const Node& node) { return std::make_unique<OneBatch>(ranks, node.name); };
    open(std::move(options));
    ranks.make(graph, std::move(begins), std::move(sums));
    initialize();
    fetches_ = FetchSet(std::vector<FetchRef>{outputs_.train_op});
    request_.fetches = &fetches_;
    request_.full_team = true;
  }
  void step() { session().run(request_); }
  std::vector<std::string> traced_step() {
    RunMetadata metadata;
    request_.trace_level = BELAY_TRACE_FULL;
    request_.metadata = &metadata;
    session().run(request_);
    request_.trace_level = BELAY_TRACE_NONE;
    request_.metadata = nullptr;
    std::vector<std::string> made;
    for (const TracedNode& node : metadata.nodes) made.push_back(node.op);
    return made;
  }
  std::vector<float> weights() {
    std::vector<float> all;
    for (const Variable* v : session().variables()) {
      if (v->value.dtype() != DType::kFloat32) continue;
      const float* values = v->value.data<float>();
      all.insert(all.end(), values, values + v->value.elements());
    }
    return all;
  }

  CountedClock clock;
  RankOfTwo ranks;

 private:
  ModelOutputs outputs_;
  FetchSet fetches_;
  RunRequest request_;
};

constexpr double kOneEach = 1e-6, kAllInOne = 4;

TEST_F(StepBuckets, AreBegunBetweenTheOperationsOfTheBackwardPass) {
  build(kOneEach);
  start();
  step();
  const std::vector<std::string> made = traced_step();
  std::vector<std::size_t> begun;
  for (std::size_t i = 0; i < made.size(); ++i)
    if (made[i] == "BeginBucket") begun.push_back(i);
  ASSERT_EQ(begun.size(), 9U) << "the loss, and of each layer a matrix and a bias";
  // The loss, and a layer's two gradients, may come one right after the other; the time between is the pass.
  std::size_t between = 0;
  for (std::size_t b = 1; b < begun.size(); ++b) between += begun[b] - begun[b - 1] > 1 ? 1 : 0;
  EXPECT_GE(between, 4U) << "all layers but the last";
  const auto wait = static_cast<std::size_t>(std::find(made.begin(), made.end(), "MeanOverRanks") - made.begin());
  EXPECT_GT(wait, begun.back());
}

// The first bucket's sum ends only when three more operations of the step have begun and ended.
TEST_F(StepBuckets, WhileOneIsSummedTheBackwardPassGoesOn) {
  std::atomic<std::int64_t> until{0};
  build(kOneEach);
  start(
      [&](std::size_t bucket) {
        if (bucket == 0) until = clock.looks() + 8;
      },
      [&](std::size_t bucket) {
        if (bucket == 0) clock.await(until);
      });
  for (int i = 0; i < 3; ++i) {
    const std::vector<std::string> made = traced_step();
    EXPECT_EQ(std::count(made.begin(), made.end(), "BeginBucket"), 9);
  }
}

TEST_F(StepBuckets, ALargeOneHoldsAll) {
  build(kAllInOne);
  start();
  EXPECT_EQ(ranks.count(), 1U);
  step();
}

// A rounded loss would be another one.
TEST_F(StepBuckets, WhatIsNotRoundedOnTheWayHasOneOfItsOwn) {
  build(kAllInOne, {.name = "adam"}, true);
  start();
  ASSERT_EQ(ranks.count(), 2U);
  EXPECT_EQ(ranks.sizes()[0], (GradientBuckets::Size{16, false}));
  EXPECT_TRUE(ranks.sizes()[1].gradients);
  step();
}

TEST_F(StepBuckets, AnErrorOfOneEndsTheStepAndChangesNothing) {
  int sums = 0;
  build(kOneEach);
  start({}, [&](std::size_t bucket) {
    if (bucket == 4 && ++sums == 3) fail(Code::kAborted, "rank 1 has ended or left");
  });
  step();
  step();
  const std::vector<float> before = weights();
  const std::string said = error_of([&] { step(); });
  EXPECT_THAT(said, StartsWith("ABORTED"));
  EXPECT_THAT(said, HasSubstr("rank 1 has ended or left"));
  EXPECT_EQ(weights(), before);
  EXPECT_EQ(session().global_step(), 2);
}

TEST_F(StepBuckets, AWarmStepAllocatesNothing) {
  build(kOneEach);
  start();
  for (int i = 0; i < 5; ++i) step();
  const std::uint64_t before = belay::testing::allocations();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(belay::testing::allocations() - before, 0U);
}

// Both ranks have the same rows, each with half of the weight.
TEST_F(StepBuckets, RowsOfATableTrainToTheBitsOfTheDenseForm) {
  class Steps final : public StepBuckets {
   public:
    void TestBody() override {}
    std::vector<float> run(const OptimizerSettings& settings, bool also_densely) {
      build_with_table(settings, also_densely);
      start();
      EXPECT_EQ(ranks.count(), also_densely ? 1U : 2U);
      for (int i = 0; i < 10; ++i) step();
      return weights();
    }
  };
  for (const char* name : {"sgd", "adagrad"})
    for (const std::int64_t batches : {1, 3}) {
      OptimizerSettings settings{.name = name};
      settings.accumulate = batches;
      const std::vector<float> sparse = Steps().run(settings, false);
      EXPECT_FALSE(sparse.empty());
      EXPECT_EQ(sparse, Steps().run(settings, true)) << name << ", batches of a step: " << batches;
    }
}

TEST_F(StepBuckets, AWarmStepWithRowsAllocatesNothing) {
  build_with_table({.name = "adagrad"}, false);
  start();
  for (int i = 0; i < 5; ++i) step();
  const std::uint64_t before = belay::testing::allocations();
  for (int i = 0; i < 20; ++i) step();
  EXPECT_EQ(belay::testing::allocations() - before, 0U);
}

// How values are divided among buckets changes no bit, where each sum is of two.
class DividedSteps : public StepBuckets, public ::testing::WithParamInterface<bool> {
 protected:
  static std::vector<float> trained(double bucket_mib, bool clips) {
    class Steps final : public DividedSteps {
     public:
      void TestBody() override {}
      std::vector<float> run(double mib, bool clips) {
        OptimizerSettings settings{.name = "momentum"};
        if (clips) settings.clip_norm = 0.05;
        build(mib, settings);
        start();
        for (int i = 0; i < 10; ++i) step();
        return weights();
      }
    };
    return Steps().run(bucket_mib, clips);
  }
};

TEST_P(DividedSteps, TrainTheSameBits) {
  const std::vector<float> one = trained(kAllInOne, GetParam());
  EXPECT_FALSE(one.empty());
  EXPECT_EQ(trained(kOneEach, GetParam()), one);
  EXPECT_EQ(trained(0.001, GetParam()), one);
}

INSTANTIATE_TEST_SUITE_P(Clipping, DividedSteps, ::testing::Bool());

}  // namespace
}  // namespace belay::runtime::testing
