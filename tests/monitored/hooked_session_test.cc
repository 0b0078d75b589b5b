// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/hooked_session.h"

#include <omp.h>

#include <cstring>

#include "runtime/session/session_service.h"
#include "tests/monitored/hooked_fixture.h"

// The sanitizers' build links this object as the release build compiled it. Only the linked runtime knows which it is.
extern "C" void __asan_init() __attribute__((weak));  // NOLINT: the sanitizer's name

namespace belay::runtime::testing {
namespace {

TEST_F(HookedSessionTest, AHookMayAskForSomethingElseInEveryRun) {
  Probe& x = add_probe("x");
  int runs = 0;
  std::vector<float> seen;
  x.ask = [&](RunContext&) { return ++runs % 2 == 0 ? RunArgs{two} : RunArgs{one}; };
  x.look = [&](RunContext&, const RunValues& v) { seen.push_back(v.result(0).scalar<float>()); };
  open();
  for (int i = 0; i < 4; ++i) run(one);
  EXPECT_EQ(seen, (std::vector<float>{1, 2, 1, 2}));
  // More lists than are kept: those that were forgotten are asked for again.
  std::vector<float> again;
  x.ask = [&](RunContext&) {
    RunArgs args;
    for (int i = 0; i < runs % 20; ++i) args.fetch(one);
    args.fetch(two);
    ++runs;
    return args;
  };
  x.look = [&](RunContext&, const RunValues& v) { again.push_back(v.result(v.size() - 1).scalar<float>()); };
  for (int i = 0; i < 40; ++i) run(one);
  EXPECT_EQ(again, std::vector<float>(40, 2.0f));
}

// Its code was OUT_OF_RANGE, which ended the training of a hook that handed it on.
TEST(RunStats, T_141_ATracedNodeThatIsNotThereIsAnInvalidArgument) {
  RunContextState context;
  auto stats = belay::detail::sized<belay_node_stats>();
  belay::detail::Status status;
  EXPECT_EQ(session_service()->run_node_stats(to_handle(&context), 0, &stats, status), BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "[B5074] the run has 0 traced nodes, there is no node 0");
}

// It is found after the last hook of a step, so each hook that fetched the value may have made it.
TEST_F(HookedSessionTest, T_145_AWriteThatLeavesTheNearWordsAloneIsFoundAfterAStep) {
  if (__asan_init != nullptr) GTEST_SKIP() << "SKIPPED: the address sanitizer finds such writes by itself";
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  x.ask = y.ask = [this](RunContext&) { return RunArgs{sum}; };
  int at = 0;
  x.look = [&at](RunContext&, const RunValues& v) {
    char* value = static_cast<char*>(const_cast<void*>(v.result(0).data()));
    if (at != 0) std::memset(value + at, 0x41, 4);
  };
  open();
  const std::vector<std::pair<Output, Tensor>> feeds = {{a, Tensor(1.0f)}, {b, Tensor(2.0f)}, {c, Tensor(3.0f)}};
  EXPECT_EQ(run(sum, feeds), 6.0f);
  at = 4 + 40;
  EXPECT_EQ(
      error_of([&] { run(sum, feeds); }),
      "INTERNAL: hook \"y\" in after_run: it wrote 44 bytes past the end of the value of 'sum:0' (it or another hook "
      "that fetches it: \"x\"), which has 4 bytes");
  at = -44;
  EXPECT_EQ(
      error_of([&] { run(sum, feeds); }),
      "INTERNAL: hook \"y\" in after_run: it wrote 44 bytes before the start of the value of 'sum:0' (it or another "
      "hook that fetches it: \"x\"), which has 4 bytes");
  at = 4;
  EXPECT_EQ(
      error_of([&] { run(sum, feeds); }),
      "INTERNAL: hook \"x\" in after_run: it wrote 4 bytes past the end of the value of 'sum:0', which has 4 bytes");
  at = 0;
  EXPECT_EQ(run(sum, feeds), 6.0f);
}

TEST_F(HookedSessionTest, T_50b_WhatHooksChangeOfOpenMPsSettingsIsPutBackAfterTheStep) {
  Probe& x = add_probe("x");
  x.ask = [this](RunContext&) {
    omp_set_num_threads(7);
    omp_set_max_active_levels(0);
    return RunArgs{one};
  };
  x.look = [](RunContext&, const RunValues&) { omp_set_dynamic(1); };
  const int threads = omp_get_max_threads(), dynamic = omp_get_dynamic(), levels = omp_get_max_active_levels();
  open();
  run(one);
  EXPECT_EQ(omp_get_max_threads(), threads);
  EXPECT_EQ(omp_get_dynamic(), dynamic);
  EXPECT_EQ(omp_get_max_active_levels(), levels);
}

TEST_F(HookedSessionTest, T_60_AModeThatACallbackLeavesReachesNoOtherOneAndNamesItsCallback) {
  std::vector<std::uint32_t> found;
  const auto change = [&found] {
    found.push_back(vector_control() & kVectorModeBits);
    set_vector_control(0xdfc0);
  };
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  x.ask = [&](RunContext&) {
    change();
    return RunArgs{one};
  };
  y.look = [&](RunContext&, const RunValues&) { change(); };
  Probe& z = add_probe("z");
  z.ask = [&](RunContext&) {
    found.push_back(vector_control() & kVectorModeBits);
    return RunArgs();
  };
  const std::uint32_t own = vector_control() & kVectorModeBits;
  open();
  run(one);
  EXPECT_EQ(found, std::vector<std::uint32_t>(3, own));
  EXPECT_EQ(vector_control() & kVectorModeBits, own);
  EXPECT_TRUE(logged(R"(hook \"x\" in before_run: it changed the floating-point mode)")) << log_text;
  EXPECT_TRUE(logged(R"(hook \"y\" in after_run: it changed the floating-point mode)")) << log_text;
  EXPECT_FALSE(logged(R"(hook \"z\")")) << log_text;
}

class Looking final : public Hook {
 public:
  explicit Looking(int& runs) : runs_(runs) {}
  void after_run(RunContext&, const RunValues& values) override {
    EXPECT_EQ(values.size(), 0u);
    ++runs_;
  }

 private:
  int& runs_;
};

TEST_F(HookedSessionTest, AHookWithoutBeforeRunIsStillCalledAfterIt) {
  int runs = 0;
  add_hook("looking", std::make_unique<Looking>(runs));
  open();
  run(one);
  run(one);
  EXPECT_EQ(runs, 2);
}

TEST_F(HookedSessionTest, HooksAndTheCallerRunTogetherInOneRawRun) {
  const Output v = ops::variable(g, "v", Tensor(0.0f));
  const Output first = ops::assign_add(v, ops::constant(g, Tensor(0.5f)), "first");
  Probe& x = add_probe("x");
  x.ask = [&](RunContext&) { return RunArgs{v}; };
  std::vector<float> seen;
  x.look = [&](RunContext&, const RunValues& values) { seen.push_back(values[v].scalar<float>()); };
  open();
  EXPECT_EQ(run(first), 0.5f);
  EXPECT_EQ(run(first), 1.0f);
  // A variable is read as it is before the run writes.
  EXPECT_EQ(seen, (std::vector<float>{0, 0.5f}));
}

TEST_F(HookedSessionTest, TheFirstReasonIsKeptWithTheHooksName) {
  add_probe("x").look = [](RunContext& context, const RunValues&) { context.request_stop("reached step 3"); };
  add_probe("y").look = [](RunContext& context, const RunValues&) { context.request_stop("the loss is low enough"); };
  open();
  EXPECT_EQ(session().stop_reason(), "");
  run(one);
  EXPECT_EQ(session().stop_reason(), "x: reached step 3");
  session().request_stop("z", "later");
  EXPECT_EQ(session().stop_reason(), "x: reached step 3");
}

TEST_F(HookedSessionTest, ARequestFromOutsideCountsLikeAHooks) {
  open();
  session().request_stop("saver", "enough");
  EXPECT_TRUE(session().should_stop());
  EXPECT_EQ(error_of([&] { run(one); }),
            "FAILED_PRECONDITION: [B5071] Run called even after should_stop requested (saver: enough)");
}

TEST_F(HookedSessionTest, ADisabledHookIsLeftOutAndTheOthersKeepTheirValues) {
  add_probe("x", OnHookError::kDisable).in["before_run"] = [] { fail(Code::kInternal, "no"); };
  Probe& y = add_probe("y");
  y.ask = [&](RunContext&) { return RunArgs{two}; };
  float seen = 0;
  y.look = [&](RunContext&, const RunValues& v) { seen = v[two].scalar<float>(); };
  open();
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(run(one), 1.0f);
  EXPECT_EQ(seen, 2.0f);
  EXPECT_EQ(new_events(), (Timeline{"x.before_run", "y.before_run", "y.after_run", "y.before_run", "y.after_run"}));
}

TEST_F(HookedSessionTest, AfterCloseARunIsRefused) {
  open();
  session().close();
  EXPECT_EQ(error_of([&] { run(one); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(error_of([&] { session().run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  session().close();
}

}  // namespace
}  // namespace belay::runtime::testing
