// SPDX-License-Identifier: Apache-2.0
// The additions that docs/design/abi.md still allows: each change compiles, and binaries of today live in a host that
// has them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <vector>

#include "belay/testing/temporary_folder.h"
#include "tests/abi/compilers.h"

namespace belay::runtime {
namespace {

using belay::testing::TemporaryFolder;
using ::testing::HasSubstr;

std::vector<std::string> future_headers() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(source("future")))
    if (entry.path().extension() == ".h") names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  return names;
}

TEST(FutureAbi, EachChangeCompilesInCAndCxx) {
  std::vector<std::string> compilers = {"gcc -x c -std=c11", "g++ -x c++ -std=c++17"};
  if (has_command("clang")) compilers.insert(compilers.end(), {"clang -x c -std=c11", "clang++ -x c++ -std=c++20"});
  const std::vector<std::string> headers = future_headers();
  EXPECT_EQ(headers.size(), 5u);
  for (const std::string& header : headers)
    for (const std::string& compiler : compilers) {
      const Output built =
          compile(compiler + " -Wall -Wextra -Wpedantic -Werror -fsyntax-only", "future/" + header, "/dev/null");
      EXPECT_EQ(built.status, 0) << header << " by " << compiler << "\n" << built.text;
    }
}

// In the page's last table, and nothing else there.
TEST(FutureAbi, TheManualNamesEachChange) {
  std::ifstream file(BELAY_SOURCE_DIR "/docs/design/abi.md");
  const std::string page(std::istreambuf_iterator<char>(file), {});
  const std::size_t at = page.find("## What may still be appended, and how");
  ASSERT_NE(at, page.npos);
  EXPECT_EQ(page.find("\n## ", at + 1), page.npos) << "it is the page's end";
  for (const std::string& header : future_headers()) EXPECT_THAT(page.substr(at), HasSubstr("`" + header + "`"));
}

class HostOfTheFuture : public ::testing::Test {
 protected:
  void SetUp() override {
    const Output built = compile("gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -O1", "future/host.c", host_);
    ASSERT_EQ(built.status, 0) << built.text;
  }
  TemporaryFolder folder_;
  const std::string host_ = folder_.file("host");
};

TEST_F(HostOfTheFuture, RunsAHookOfToday) {
  const std::string hook = folder_.file("c_hook.so");
  ASSERT_EQ(compile("gcc -std=c11 -shared -fPIC -O2", "c_hook.c", hook).status, 0);
  const Output ran = run("'" + host_ + "' '" + hook + "' c_ceiling");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(ran.text,
            "create\nbegin\nbefore_run\nafter_run\nbefore_run\nlog loss is 30, above 10\nstop loss is 30, above 10\n"
            "after_run\ndestroy\ncalls of the future: 0\n");
}

TEST_F(HostOfTheFuture, RunsAnInputOfTodayWhichRefusesWhatItCannotKeep) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  GTEST_SKIP() << "NOT TESTED: a program without the sanitizer cannot load a plugin that has it";
#endif
  const Output ran = run("'" + host_ + "' '" BELAY_BINARY_DIR "/plugins/digits.so' digits");
  EXPECT_EQ(ran.status, 0) << ran.text;
  EXPECT_EQ(
      ran.text,
      "create\ndeclares image of rank 2\ndeclares label of rank 1\nspec\nopen\nnext\nat epoch 0, example 32\nseek\n"
      "seek with a flag of the future: code 12\ndestroy\ncalls of the future: 0\n");
}

// A library of the future in the host of today.
class NewerLibrary : public ::testing::Test {
 protected:
  void SetUp() override {
    const Output built = compile("gcc -std=c11 -Wall -Wextra -Wpedantic -Werror -shared -fPIC", "future/newer.c",
                                 folder_.file("newer.so"));
    ASSERT_EQ(built.status, 0) << built.text;
  }
  Output trained(const std::string& input, const std::string& hook) {
    const std::string manifest = folder_.write(
        "train.toml", "[run]\ndir = \"run\"\nmax_steps = 2\n[plugins]\npath = [\".\", \"" BELAY_BINARY_DIR
                      "/plugins\"]\n[input.train]\nplugin = \"" +
                          input + "\"\n[model]\nplugin = \"linear\"\n[optimizer]\nname = \"sgd\"\n" + hook);
    // What AddressSanitizer records of a library's thread-local memory is wrong where the library was built without it,
    // and its leak checker crashes there.
    return run("ASAN_OPTIONS=intercept_tls_get_addr=0 '" BELAY_BINARY_DIR "/bin/belay' run '" + manifest + "'");
  }
  TemporaryFolder folder_;
};

TEST_F(NewerLibrary, B_07d_APluginOfALaterKindIsListedAsUnusableAndTheOthersRun) {
  const Output listed = run("BELAY_PLUGIN_PATH='" + folder_.path() + "' '" BELAY_BINARY_DIR "/bin/belay' plugins");
  EXPECT_THAT(listed.text, HasSubstr("\"stage\", this host knows: hook, saver,")) << listed.text;
  const Output ran = trained("digits", "[[hooks]]\nplugin = \"plain\"\n");
  EXPECT_EQ(ran.status, 0) << ran.text;
}

TEST_F(NewerLibrary, B_12n_ARoleOfALaterHeaderIsRefusedByName) {
  const Output ran = trained("new_role", "");
  EXPECT_NE(ran.status, 0);
  EXPECT_THAT(ran.text,
              HasSubstr("'weight' has the role 3, which this host does not know: a component is a feature or a label"));
}

}  // namespace
}  // namespace belay::runtime
