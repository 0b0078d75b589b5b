// SPDX-License-Identifier: Apache-2.0
#include "belay/session.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "belay/testing/error_of.h"
#include "belay/testing/fake_session.h"

namespace {

using belay::Dims;
using belay::Fetch;
using belay::Output;
using belay::RunArgs;
using belay::RunOptions;
using belay::RunValues;
using belay::Tensor;
using belay::TensorView;
using belay::testing::error_of;
using belay::testing::FakeGraph;
using belay::testing::FakeHost;
using belay::testing::FakeSession;

// A plugin's view of the fakes.
struct SessionFixture {
  FakeHost host;
  FakeGraph graph{host};
  FakeSession fake{host, graph};
  belay::Host services{host.api(), host.raw()};
  belay::Session session{&services.services(), fake.open_handle()};
};

belay_output output(std::uint32_t node) { return {1, node, 0}; }
Output handle(std::uint32_t node) { return Output(nullptr, nullptr, output(node)); }

RunArgs many_fetches(std::uint32_t n) {
  RunArgs args;
  for (std::uint32_t i = 0; i < n; ++i) args.fetch(handle(i));
  return args;
}

TEST(RunArgs, NothingAskedForIsNothing) {
  RunArgs args;
  const belay_run_args raw = args.raw();
  EXPECT_EQ(raw.n_fetches, 0u);
  EXPECT_EQ(raw.n_feeds, 0u);
  EXPECT_EQ(raw.options, nullptr);
}

TEST(RunArgs, KeepsFetchesInOrderAroundTheInlineEight) {
  for (const std::uint32_t n : {0u, 1u, 7u, 8u, 9u, 20u}) {
    RunArgs args = many_fetches(n);
    const belay_run_args raw = args.raw();
    ASSERT_EQ(raw.n_fetches, n);
    for (std::uint32_t i = 0; i < n; ++i) EXPECT_EQ(raw.fetches[i].node, i) << n;
  }
}

TEST(RunArgs, TakesOutputsAndTypedFetches) {
  RunArgs args{handle(3), Fetch<float>(handle(4))};
  EXPECT_EQ(args.size(), 2u);
  EXPECT_EQ(args.fetches()[1].node, 4u);
}

TEST(RunArgs, CarriesFeedsAndOptions) {
  RunOptions options;
  options.trace_level = RunOptions::Trace::kFull;
  options.timeout_ms = 250;
  RunArgs args;
  args.feed(handle(1), Tensor(2.5f)).feed(handle(2), Tensor({2}, {1, 2})).options(options);
  const belay_run_args raw = args.raw();
  ASSERT_EQ(raw.n_feeds, 2u);
  EXPECT_EQ(TensorView(raw.feeds[0].value).scalar<float>(), 2.5f);
  EXPECT_EQ(raw.feeds[1].output.node, 2u);
  ASSERT_NE(raw.options, nullptr);
  EXPECT_EQ(raw.options->trace_level, BELAY_TRACE_FULL);
  EXPECT_EQ(raw.options->timeout_ms, 250);
}

TEST(RunValues, AreFoundByTheirFetch) {
  const float loss = 1.5f;
  const std::int64_t counts[] = {1, 2, 3};
  const std::int64_t dims[] = {3};
  const belay_tensor results[] = {
      belay::detail::raw_tensor(belay::DType::kFloat32, 0, nullptr, const_cast<float*>(&loss), sizeof(loss)),
      belay::detail::raw_tensor(belay::DType::kInt64, 1, dims, const_cast<std::int64_t*>(counts), sizeof(counts)),
      belay_tensor{}};
  const belay_output fetches[] = {output(5), output(6), output(7)};
  const RunValues values(results, fetches, 3);
  EXPECT_EQ(values[Fetch<float>(handle(5))], 1.5f);
  EXPECT_EQ(values[handle(6)].dims(), Dims{3});
  EXPECT_EQ(values.tensor(Fetch<std::int64_t>(handle(6))).number(2), 3.0);
  EXPECT_FALSE(values[handle(7)].has_value());
  EXPECT_TRUE(values.has(handle(5)));
  EXPECT_FALSE(values.has(handle(8)));
  EXPECT_EQ(values.size(), 3u);
  EXPECT_EQ(values.result(0).scalar<float>(), 1.5f);
  EXPECT_EQ(error_of([&] { values[handle(8)]; }),
            "INVALID_ARGUMENT: after_run asked for a value that before_run did not fetch");
  EXPECT_EQ(error_of([&] { values[Fetch<double>(handle(5))]; }),
            "INVALID_ARGUMENT: the tensor is float32, not float64");
  EXPECT_EQ(error_of([&] { values[Fetch<std::int64_t>(handle(6))]; }),
            "INVALID_ARGUMENT: expected a scalar, got shape [3]");
}

TEST(Session, RunsFetchFeedAndPassOptions) {
  SessionFixture f;
  const Output x = f.graph.tensor<float>("x");
  const Output y = f.graph.tensor<std::int64_t>("y", {2});
  f.fake.set_value("y", Tensor({2}, std::vector<std::int64_t>{4, 5}));
  f.fake.set_value("x", 0.5f);
  RunOptions options;
  options.timeout_ms = 7;
  const belay::RunResult result = f.session.run({x, y}, {{x, Tensor(3.f)}}, options);
  EXPECT_EQ(result.size(), 2u);
  EXPECT_EQ(result[1].number(1), 5.0);
  EXPECT_EQ(result[Fetch<float>(x)], 0.5f);
  ASSERT_EQ(f.fake.raw_runs().size(), 1u);
  EXPECT_EQ(f.fake.raw_runs()[0].fetches, (std::vector<std::string>{"x", "y"}));
  EXPECT_EQ(TensorView(f.fake.raw_runs()[0].feeds.at("x")).scalar<float>(), 3.f);
  EXPECT_EQ(f.fake.raw_runs()[0].options.timeout_ms, 7);
  EXPECT_EQ(f.session.value(Fetch<float>(x)), 0.5f);
  EXPECT_EQ(error_of([&] { result[Fetch<float>(handle(77))]; }), "INVALID_ARGUMENT: the run did not fetch this value");
}

TEST(Session, ResultsAreReleasedOnce) {
  SessionFixture f;
  const Output x = f.graph.tensor<float>("x");
  f.fake.set_value("x", 0.5f);
  {
    belay::RunResult first = f.session.run({x});
    const belay::RunResult second = std::move(first);
    EXPECT_EQ(f.fake.open_results(), 1u);
  }
  EXPECT_EQ(f.fake.open_results(), 0u);
  EXPECT_TRUE(f.host.breaches().empty());
}

TEST(Session, ListsAndAssignsVariables) {
  SessionFixture f;
  f.fake.variable("dense/w", Tensor({2}, {1.f, 2.f}));
  f.fake.variable("step", Tensor(std::int64_t{3}), false, false);
  const auto variables = f.session.variables();
  ASSERT_EQ(variables.size(), 2u);
  EXPECT_EQ(variables[0].name, "dense/w");
  EXPECT_EQ(variables[0].dims, Dims{2});
  EXPECT_TRUE(variables[0].trainable);
  EXPECT_TRUE(variables[1].dims.empty());
  EXPECT_FALSE(variables[1].trainable);
  EXPECT_FALSE(variables[1].initialized);

  f.session.assign("dense/w", Tensor({2}, {7.f, 8.f}));
  EXPECT_EQ(TensorView(f.fake.variable_value("dense/w")).number(1), 8.0);
  EXPECT_EQ(error_of([&] { f.session.assign("dense/v", Tensor(1.f)); }),
            "NOT_FOUND: the session has no variable 'dense/v'; did you mean 'dense/w'?");
  EXPECT_EQ(error_of([&] { f.session.assign("dense/w", Tensor(1.0)); }),
            "INVALID_ARGUMENT: variable 'dense/w' is float32 [2], the value is float64 []");
}

TEST(RunContext, StopsAndTellsTheCallersFetches) {
  SessionFixture f;
  const Output x = f.graph.tensor<float>("x");
  FakeSession::Run& run = f.fake.open_run({x.raw()});
  belay::RunContext context(&f.services.services(), run.raw());
  ASSERT_EQ(context.original_fetches().size(), 1u);
  EXPECT_EQ(context.original_fetches()[0], x);
  EXPECT_FALSE(context.stop_requested());
  context.request_stop("enough");
  EXPECT_TRUE(context.stop_requested());
  context.request_stop("a second reason");
  EXPECT_EQ(run.stop_reason, "enough");
}

TEST(Coordinator, PassesOnStopsAndErrors) {
  SessionFixture f;
  const belay::Coordinator coordinator = f.session.coordinator();
  EXPECT_FALSE(coordinator.should_stop());
  coordinator.request_stop(belay::Error(belay::Code::kUnavailable, "peer is gone"));
  EXPECT_TRUE(coordinator.should_stop());
  EXPECT_EQ(f.fake.coordinator().code(), belay::Code::kUnavailable);
  EXPECT_EQ(f.fake.coordinator().reason(), "peer is gone");
}

}  // namespace
