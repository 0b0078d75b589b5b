// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/new_command.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <sstream>

#include "belay/testing/error_of.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;

class NewCommandTest : public ::testing::Test {
 protected:
  int run(const std::string& kind, const std::string& name) {
    return new_command(kind, name, posix_file_system(), folder_.path(), out_);
  }
  std::string text(const std::string& file) const {
    std::ifstream in(folder_ / file);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  std::vector<std::string> entries(const std::string& path) const {
    return posix_file_system().open_directory(path)->entries();
  }

  TempDir folder_;
  std::ostringstream out_;
};

TEST_F(NewCommandTest, EveryKindHasSourceTestBuildManifestAndReadme) {
  for (const std::string kind :
       {"hook", "saver", "init_fn", "model", "input", "op", "optimizer", "schedule", "exporter", "cluster"}) {
    const std::string name = "a_" + kind;
    ASSERT_EQ(run(kind, name), 0);
    EXPECT_EQ(entries(folder_ / name), (std::vector<std::string>{"CMakeLists.txt", "README.md", name + ".cc",
                                                                 name + ".toml", name + "_test.cc"}));
    for (const std::string& file : entries(folder_ / name)) {
      const std::string content = text(name + "/" + file);
      EXPECT_NE(content.find(name), std::string::npos) << file;
      EXPECT_EQ(content.find("my_" + kind), std::string::npos) << file << " still has the template's name";
      EXPECT_EQ(content.find("My"), std::string::npos) << file << " still has the template's type";
    }
  }
}

TEST_F(NewCommandTest, ADashStaysInTheNameAndIsAnUnderscoreInCode) {
  ASSERT_EQ(run("hook", "loss-ceiling2"), 0);
  EXPECT_NE(text("loss-ceiling2/loss-ceiling2.cc").find("class LossCeiling2 final"), std::string::npos);
  EXPECT_NE(text("loss-ceiling2/loss-ceiling2.cc").find("\"loss-ceiling2\""), std::string::npos);
  EXPECT_NE(text("loss-ceiling2/loss-ceiling2_test.cc").find("belay_module_loss_ceiling2;"), std::string::npos);
}

TEST_F(NewCommandTest, TheManifestNamesASchemaForEditorsAndHowItIsMade) {
  ASSERT_EQ(run("hook", "ceiling"), 0);
  EXPECT_EQ(text("ceiling/ceiling.toml").rfind("#:schema belay.schema.json\n", 0), 0u);
  EXPECT_NE(text("ceiling/ceiling.toml").find("belay schema > belay.schema.json"), std::string::npos);
}

TEST_F(NewCommandTest, SaysWhatToDoNext) {
  ASSERT_EQ(run("hook", "ceiling"), 0);
  EXPECT_EQ(out_.str(),
            "made ceiling/: the hook ceiling, its test, its build and a manifest\n\n"
            "  cd ceiling\n"
            "  cmake -S . -B build\n"
            "  cmake --build build\n"
            "  ctest --test-dir build --output-on-failure\n"
            "  belay validate build/ceiling.so\n"
            "  belay run ceiling.toml\n");
}

TEST_F(NewCommandTest, RefusesAndLeavesNothing) {
  struct Case {
    const char* kind;
    const char* name;
    const char* error;
  };
  for (const Case& c : {
           Case{"hok", "a",
                "INVALID_ARGUMENT: [B5005] belay new: \"hok\" is no kind of plugin (did you mean \"hook\"?); kinds: "
                "hook, "
                "saver, "
                "init_fn, model, input, op, optimizer, schedule, exporter, cluster"},
           Case{"hook", "Loss",
                "INVALID_ARGUMENT: [B5008] belay new: \"Loss\" cannot be a plugin's name, which is "
                "[a-z][a-z0-9_-]{0,62}"},
           Case{"hook", "../a",
                "INVALID_ARGUMENT: [B5008] belay new: \"../a\" cannot be a plugin's name, which is "
                "[a-z][a-z0-9_-]{0,62}"},
           Case{"hook", "test",
                "INVALID_ARGUMENT: [B5008] belay new: \"test\" is a target that every CMake build has; choose another "
                "name"},
       })
    EXPECT_EQ(error_of([&] { run(c.kind, c.name); }), c.error);
  EXPECT_TRUE(entries(folder_.path()).empty());
}

TEST_F(NewCommandTest, TouchesNothingThatIsThere) {
  ASSERT_EQ(run("hook", "ceiling"), 0);
  std::ofstream(folder_ / "ceiling/ceiling.cc") << "mine";
  EXPECT_EQ(error_of([&] { run("saver", "ceiling"); }),
            "INVALID_ARGUMENT: [B5007] belay new: \"ceiling\" is there already; choose another name or remove it");
  EXPECT_EQ(text("ceiling/ceiling.cc"), "mine");
}

}  // namespace
}  // namespace belay::runtime
