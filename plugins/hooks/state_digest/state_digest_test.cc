// SPDX-License-Identifier: Apache-2.0
#include <belay/state_digest.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <regex>
#include <string>
#include <vector>

#include "belay/testing/allocations.h"
#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_state_digest;

namespace state_digest_test {

using namespace belay::testing;
using belay::StateDigest;
using belay::Tensor;
using ::testing::HasSubstr;
using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_state_digest); }

class StateDigestHook : public ::testing::Test {
 protected:
  // Starts a hook with two variables; raw runs read them.
  std::unique_ptr<HookDriver> started(const OptionValues& options, const StoredState* state = nullptr,
                                      std::int64_t step = 0) const {
    auto hook = std::make_unique<HookDriver>(module(), options, DriverSetup{.run_directory = dir_.path()});
    hook->tensor<float>("w", {2});
    hook->tensor<float>("b");
    hook->global_step(step);
    hook->begin();
    if (state != nullptr) hook->load_state(*state);
    hook->session().variable("w", Tensor({2}, {1.f, 2.f}));
    hook->session().variable("b", Tensor(0.f));
    hook->create_session();
    set(*hook, 2.f);
    return hook;
  }
  static void set(HookDriver& hook, float second) {
    hook.session().set_value("w", Tensor({2}, {1.f, second}));
    hook.session().set_value("b", Tensor(0.f));
  }
  static std::string digest_of(float second) {
    StateDigest digest;
    const Tensor w({2}, {1.f, second}), b(0.f);
    digest.add("w", belay::TensorView(w.view()));
    digest.add("b", belay::TensorView(b.view()));
    return digest.text();
  }
  // Returns the file's lines without their times.
  Texts lines() const {
    std::ifstream file(dir_.file("metrics.jsonl"));
    Texts all;
    for (std::string line; std::getline(file, line);)
      all.push_back(std::regex_replace(line, std::regex(",\"time\":[0-9.]+"), ""));
    return all;
  }
  static std::string line(int step, float second) {
    return "{\"step\":" + std::to_string(step) + ",\"attempt\":1,\"event\":\"state_digest\",\"state_digest\":\"" +
           digest_of(second) + "\"}";
  }

  const TemporaryFolder dir_;
};

TEST_F(StateDigestHook, WritesTheDigestOfAllVariablesIntoMetricsAndEvents) {
  const auto hook = started({{"every_n_steps", 2}});
  for (int i = 0; i < 4; ++i) {
    set(*hook, static_cast<float>(i));
    hook->step();
  }
  EXPECT_EQ(lines(), (Texts{line(1, 0.f), line(3, 2.f)}));
  ASSERT_EQ(hook->events().summaries().size(), 2u);
  EXPECT_EQ(hook->events().summaries()[1].step, 3);
  EXPECT_THAT(hook->events().summaries()[1].bytes, HasSubstr("state_digest"));
  EXPECT_THAT(hook->events().summaries()[1].bytes, HasSubstr(digest_of(2.f)));
}

TEST_F(StateDigestHook, TheFileMayBeLeftOutAndTheLogAskedFor) {
  const auto hook = started({{"output_file", ""}, {"log", true}});
  EXPECT_EQ(hook->step().logged, Texts{"info: state_digest = " + digest_of(2.f) + " at step 1"});
  EXPECT_EQ(lines(), Texts{});
  EXPECT_EQ(hook->events().summaries().size(), 1u);
}

TEST_F(StateDigestHook, ALinkInThePlaceOfTheFileIsNotFollowedAndSaidOnce) {
  const TemporaryFolder elsewhere;
  ASSERT_EQ(::symlink(elsewhere.file("target").c_str(), dir_.file("metrics.jsonl").c_str()), 0);
  const auto hook = started({{"every_n_steps", 1}});
  hook->step();
  hook->step();
  ASSERT_EQ(hook->logged().size(), 1u);
  EXPECT_THAT(hook->logged()[0], HasSubstr("metrics.jsonl' cannot be written: it is a symbolic link"));
  EXPECT_FALSE(std::ifstream(elsewhere.file("target")).is_open());
}

TEST_F(StateDigestHook, RefusesAPathInThePlaceOfAName) {
  EXPECT_EQ(error_of([&] {
              HookDriver hook(module(), {{"output_file", "a/b"}}, {.run_directory = dir_.path()});
            }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
}

TEST_F(StateDigestHook, AResumedRunKeepsTheRhythm) {
  const auto before = started({{"every_n_steps", 4}});
  for (int i = 0; i < 3; ++i) before->step();
  const StoredState state = before->save_state();
  const auto after = started({{"every_n_steps", 4}}, &state, 3);
  for (int i = 0; i < 3; ++i) after->step();
  EXPECT_EQ(lines(), (Texts{line(1, 2.f), line(5, 2.f)}));
}

TEST_F(StateDigestHook, BetweenTwoDigestsItAllocatesNothing) {
  const auto hook = started({});
  hook->step();
  hook->step();
  hook->probe_with(allocations);
  for (int i = 0; i < 10; ++i) ASSERT_EQ(hook->step().probed, 0u);
}

}  // namespace state_digest_test
