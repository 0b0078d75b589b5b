// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"
#include "plugins/hooks/environment/git_commit.h"

extern "C" const belay_module belay_module_environment;

namespace environment_test {

using namespace belay::testing;
using nlohmann::json;
using ::testing::HasSubstr;

using Scalars = std::vector<WrittenScalar>;
using Texts = std::vector<std::string>;

const belay_module& module() { return module_under_test(belay_module_environment); }

class Environment : public ::testing::Test {
 protected:
  HookDriver& started(const OptionValues& options = {}, const StoredState* state = nullptr, std::int64_t step = 0) {
    DriverSetup setup;
    setup.run_directory = folder_.path();
    hook_ = std::make_unique<HookDriver>(module(), options, setup);
    hook_->global_step(step);
    hook_->begin();
    if (state != nullptr) hook_->load_state(*state);
    hook_->create_session();
    return *hook_;
  }
  json written(const std::string& name = "environment-1.json") const {
    std::ifstream file(folder_.path() + "/" + name);
    return json::parse(file, nullptr, false);
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(folder_.path() + "/" + name).parent_path());
    std::ofstream(folder_.path() + "/" + name) << text;
  }

  TemporaryFolder folder_;
  std::unique_ptr<HookDriver> hook_;
};

TEST_F(Environment, WritesWhereTheRunWasStarted) {
  setenv("BELAY_SHOWN", "1", 1);
  setenv("HIDDEN_KEY", "1", 1);
  started();
  const json content = written();
  for (const char* key : {"attempt", "started", "seed", "command_line", "working_directory", "git_commit", "host",
                          "process", "kernel", "processor", "processors", "memory", "variables"})
    EXPECT_TRUE(content.contains(key)) << key;
  EXPECT_EQ(content.at("attempt"), 1);
  EXPECT_THAT(content.at("command_line").at(0).get<std::string>(), HasSubstr("plugins_hooks_test"));
  EXPECT_EQ(content.at("variables").at("BELAY_SHOWN"), "1");
  EXPECT_FALSE(content.at("variables").contains("HIDDEN_KEY"));
}

TEST_F(Environment, VariablesByNameAndByPrefix) {
  setenv("BELAY_SHOWN", "1", 1);
  setenv("OTHER_A", "2", 1);
  started({{"variables", Texts{"OTHER_*"}}, {"output_file", std::string("here")}});
  EXPECT_EQ(written("here-1.json").at("variables"), json::parse(R"({"OTHER_A": "2"})"));
}

TEST_F(Environment, CountsAttemptsAndRecoveries) {
  HookDriver& hook = started();
  hook.recover();
  hook.recover();
  EXPECT_EQ(hook.events().scalars(), (Scalars{{"attempt", 0, 1}, {"recoveries", 0, 1}, {"recoveries", 0, 2}}));
  const StoredState state = hook.save_state();
  HookDriver& next = started({}, &state, 7);
  next.recover();
  EXPECT_EQ(next.events().scalars().back(), (WrittenScalar{"recoveries", 7, 3}));
}

TEST_F(Environment, ACommitIsReadFromGitsFiles) {
  EXPECT_EQ(git_commit(folder_.path()), "");
  write("tree/.git/HEAD", "ref: refs/heads/main\n");
  write("tree/.git/packed-refs", "# pack-refs\nabc refs/heads/other\n123 refs/heads/main\n");
  write("tree/below/file", "");
  EXPECT_EQ(git_commit(folder_.path() + "/tree/below"), "123");
  write("tree/.git/refs/heads/main", "456\n");
  EXPECT_EQ(git_commit(folder_.path() + "/tree"), "456");
  write("tree/.git/HEAD", "789\n");
  EXPECT_EQ(git_commit(folder_.path() + "/tree"), "789");
}

TEST_F(Environment, ALinkedWorkingTreeHasItsOwnHead) {
  write("main/.git/refs/heads/side", "456\n");
  write("main/.git/worktrees/side/HEAD", "ref: refs/heads/side\n");
  write("main/.git/worktrees/side/commondir", "../..\n");
  write("side/.git", "gitdir: " + folder_.path() + "/main/.git/worktrees/side\n");
  EXPECT_EQ(git_commit(folder_.path() + "/side"), "456");
}

}  // namespace environment_test
