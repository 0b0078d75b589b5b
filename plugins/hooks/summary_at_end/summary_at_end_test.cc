// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_summary_at_end;

namespace summary_at_end_test {

using namespace belay::testing;
using namespace std::string_view_literals;

const belay_module& module() { return module_under_test(belay_module_summary_at_end); }

std::unique_ptr<HookDriver> started(const OptionValues& options, const DriverSetup& setup = {}) {
  auto hook = std::make_unique<HookDriver>(module(), options, setup);
  hook->global_step(7);
  for (const char* name : {"merged", "other"}) hook->graph().tensor(name, belay::DType::kString, belay::Dims{});
  hook->graph().collect("summary_op", "merged");
  hook->begin();
  hook->create_session();
  hook->session().set_value("merged", "all of them"sv);
  hook->session().set_value("other", "one of them"sv);
  return hook;
}

TEST(SummaryAtEnd, WritesTheScaffoldsSummaryOnceAtTheLastStep) {
  const auto hook = started({});
  EXPECT_TRUE(hook->step().fetched.empty());
  hook->step();
  EXPECT_TRUE(hook->events().summaries().empty());
  hook->end();
  ASSERT_EQ(hook->events().summaries().size(), 1u);
  EXPECT_EQ(hook->events().summaries()[0].step, 9);
  EXPECT_EQ(hook->events().summaries()[0].bytes, "all of them");
}

TEST(SummaryAtEnd, WritesThoseThatItsOptionNames) {
  const auto hook = started({{"summaries", std::vector<std::string>{"other"}}});
  hook->end();
  ASSERT_EQ(hook->events().summaries().size(), 1u);
  EXPECT_EQ(hook->events().summaries()[0].bytes, "one of them");
  HookDriver wrong(module(), {{"summaries", std::vector<std::string>{"othr"}}});
  wrong.global_step(0);
  wrong.graph().tensor("other", belay::DType::kString, belay::Dims{});
  EXPECT_EQ(error_of([&] { wrong.begin(); }), "NOT_FOUND: the graph has no 'othr'; did you mean 'other'?");
}

TEST(SummaryAtEnd, WithoutADirectoryNothingIsComputed) {
  DriverSetup setup;
  setup.run_directory = "";
  const auto hook = started({}, setup);
  hook->end();
  EXPECT_TRUE(hook->session().raw_runs().empty());
  EXPECT_TRUE(hook->events().summaries().empty());
}

TEST(SummaryAtEnd, AfterAnErrorNothingIsWritten) {
  const auto hook = started({});
  hook->error(belay::Error(belay::Code::kInternal, "x"));
  EXPECT_TRUE(hook->events().summaries().empty());
}

}  // namespace summary_at_end_test
