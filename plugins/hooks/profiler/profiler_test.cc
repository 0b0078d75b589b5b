// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_profiler;

namespace profiler_test {

using namespace belay::testing;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

const belay_module& module() { return module_under_test(belay_module_profiler); }

class Profiler : public ::testing::Test {
 protected:
  // Starts a hook in a session of a graph with y, which took 10 us and made 8 bytes.
  HookDriver& started(const OptionValues& options, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->global_step(step);
    hook_->tensor<float>("y");
    hook_->session().node_stats("y", "MatMul", 1.0, 1.000010, 8);
    hook_->begin();
    if (state != nullptr) hook_->load_state(*state);
    hook_->create_session();
    return *hook_;
  }
  std::vector<std::string> files() const {
    std::vector<std::string> names;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      names.push_back(entry.path().filename());
    std::sort(names.begin(), names.end());
    return names;
  }
  nlohmann::json read(const std::string& name) const {
    std::ifstream file(folder_.path() + "/" + name);
    return nlohmann::json::parse(file);
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(Profiler, NeedsAPeriodAndAPlace) {
  EXPECT_EQ(error_of([] { HookDriver hook(module()); }),
            "INVALID_ARGUMENT: give a period: 'save_secs', 'save_steps', or both");
  DriverSetup nowhere;
  nowhere.run_directory = "";
  EXPECT_EQ(error_of([&] {
              HookDriver hook(module(), {{"save_steps", 1}}, nowhere);
            }),
            "INVALID_ARGUMENT: the run has no directory: give 'output_dir', or run.dir in the manifest");
  EXPECT_EQ(error_of([&] {
              HookDriver hook(module(), {{"save_steps", 1}, {"output_dir", std::string("/proc/none")}}, nowhere);
            }),
            "UNKNOWN: profiler: '/proc/none' cannot be made: No such file or directory");
}

TEST_F(Profiler, TracesRegularlyButNotTheFirstRun) {
  HookDriver& hook = started({{"save_steps", 2}});
  std::vector<bool> traced;
  for (int i = 0; i < 5; ++i) traced.push_back(hook.step().options.has_value());
  EXPECT_THAT(traced, ElementsAre(false, true, false, true, false));
  EXPECT_THAT(files(), ElementsAre("timeline-2.json", "timeline-4.json"));
}

TEST_F(Profiler, TracesEveryNSeconds) {
  HookDriver& hook = started({{"save_secs", 2.0}});
  hook.step();
  EXPECT_THAT(files(), IsEmpty());
  hook.host().clock.advance(1.5);
  hook.step();
  EXPECT_THAT(files(), IsEmpty());
  hook.host().clock.advance(0.5);
  hook.step();
  EXPECT_THAT(files(), ElementsAre("timeline-3.json"));
}

TEST_F(Profiler, WritesAChromeTrace) {
  HookDriver& hook = started({{"save_steps", 1}, {"show_memory", true}, {"show_phases", false}});
  hook.step();
  hook.step();
  const nlohmann::json trace = read("timeline-2.json");
  EXPECT_EQ(trace.at("displayTimeUnit"), "ms");
  nlohmann::json slice, counters = nlohmann::json::array();
  for (const auto& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X" && event.at("cat") == "op") slice = event;
    if (event.at("ph") == "C") counters.push_back(event.at("args").at("bytes"));
  }
  EXPECT_EQ(slice.at("name"), "MatMul");
  EXPECT_EQ(slice.at("ts"), 0.0);
  EXPECT_NEAR(slice.at("dur").get<double>(), 10, 0.01);
  EXPECT_EQ(slice.at("args"), nlohmann::json::parse(R"({"name": "y", "op": "MatMul", "output_bytes": 8})"));
  EXPECT_EQ(counters, nlohmann::json::parse("[8, 0]"));
}

// The node runs from 1 s to 1.00001 s. The host's clock begins at 0, and only the test moves it.
TEST_F(Profiler, ShowsThePhasesOfTheStepAndSaves) {
  HookDriver& hook = started({{"save_steps", 1}});
  hook.step();
  hook.saving_takes(0.25);
  hook.save();
  hook.host().clock.advance(0.5);
  hook.step();
  std::map<std::string, double> durations;
  const nlohmann::json trace = read("timeline-2.json");
  for (const auto& event : trace.at("traceEvents"))
    if (event.at("ph") == "X" && event.at("cat") == "phase")
      durations[event.at("name").get<std::string>()] = event.at("dur").get<double>();
  EXPECT_NEAR(durations.at("between the steps: hooks, saving, evaluation"), 0.75e6, 1);
  EXPECT_NEAR(durations.at("a checkpoint"), 0.25e6, 1);
  EXPECT_NEAR(durations.at("before the run: hooks"), 0.25e6, 1);
  EXPECT_NEAR(durations.at("the run"), 10, 0.01);
}

TEST_F(Profiler, AResumedRunKeepsTheRhythmAndLeavesOutItsFirstRun) {
  HookDriver& first = started({{"save_steps", 4}});
  for (int i = 0; i < 3; ++i) first.step();
  const StoredState state = first.save_state();
  HookDriver& second = started({{"save_steps", 4}}, &state, 3);
  second.step();  // step 4 would be due
  EXPECT_THAT(files(), IsEmpty());
  second.step();
  EXPECT_THAT(files(), ElementsAre("timeline-5.json"));
}

TEST_F(Profiler, GoesIntoADirectoryOfItsOwn) {
  HookDriver& hook = started({{"save_steps", 1}, {"output_dir", folder_.path() + "/traces"}});
  hook.step();
  hook.step();
  EXPECT_TRUE(std::filesystem::exists(folder_.path() + "/traces/timeline-2.json"));
  EXPECT_EQ(hook.logged().back(), "info: traced step 2: 1 nodes, " + folder_.path() + "/traces/timeline-2.json");
}

}  // namespace profiler_test
