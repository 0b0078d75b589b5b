// SPDX-License-Identifier: Apache-2.0
// The errors of compilers for a plugin that is written wrongly. The second line of each source of compile_errors/ is
//   // expect: MESSAGE         the compiler's first error has this, which may continue in the next line
//   // expect g++: MESSAGE     g++'s has it; clang++'s comes after it
// or something else: it compiles without a warning. All of them as C++17.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "belay/testing/temporary_folder.h"

namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::vector<std::string> sources(bool callbacks) {
  std::vector<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(COMPILE_ERRORS_SOURCES)) {
    const std::string name = entry.path().stem().string();
    if ((name.rfind("callback_", 0) == 0) == callbacks) names.push_back(name);
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Returns the first error of `compiler`; empty if there is none.
std::string expected(const std::string& path, const std::string& compiler) {
  std::ifstream file(path);
  std::string text, line;
  std::getline(file, line);
  bool meant = false;
  while (std::getline(file, line) && line.rfind("// ", 0) == 0) {
    const bool begins = line.rfind("// expect", 0) == 0;
    if (begins) {
      const std::string mark = line.substr(0, line.find(": "));
      meant = mark == "// expect" || mark == "// expect " + compiler;
    }
    if (meant) text += begins ? line.substr(line.find(": ") + 2) : line.substr(2);
  }
  return text;
}

struct Compiled {
  int status;
  std::string output;

  std::string first_error() const {
    const std::size_t at = output.find(" error: ");
    return at == output.npos ? "" : output.substr(at, output.find('\n', at) - at);
  }
};

Compiled run(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot run " + command};
  std::string output;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) != 0;) output.append(part.data(), n);
  return {::pclose(pipe), output};
}

bool has(const std::string& compiler) { return run("command -v " + compiler).status == 0; }

// `flags` come before the directory of the headers: g++ takes a precompiled header where it would find the header
// first.
std::string command_of(const std::string& compiler, const std::string& flags) {
  return "LC_ALL=C " + compiler + " -std=c++17 -fvisibility=hidden -Wall -Wextra " + flags +
         " -I " BELAY_SOURCE_DIR "/sdk/include ";
}

// plugin.h compiled once for all sources, which takes most of the time of each.
class PrecompiledHeader : public ::testing::Environment {
 public:
  void SetUp() override {
    folder_.emplace();
    fs::create_directory(folder_->file("belay"));
    for (const char* compiler : {"g++", "clang++"}) {
      if (!has(compiler)) continue;
      const Compiled made =
          run(command_of(compiler, "-x c++-header") + BELAY_SOURCE_DIR "/sdk/include/belay/plugin.h -o " +
              folder_->file(compiler == std::string("g++") ? "belay/plugin.h.gch" : "plugin.pch"));
      ASSERT_EQ(made.status, 0) << made.output;
    }
  }
  void TearDown() override { folder_.reset(); }

  // The compiler's flag that has it used.
  std::string use(const std::string& compiler) const {
    return compiler == "g++" ? "-I " + folder_->path() : "-include-pch " + folder_->file("plugin.pch");
  }

 private:
  std::optional<belay::testing::TemporaryFolder> folder_;  // made when tests run, not when they are listed
};

auto* const header = static_cast<PrecompiledHeader*>(::testing::AddGlobalTestEnvironment(new PrecompiledHeader));

class CompileErrors : public ::testing::TestWithParam<std::tuple<std::string, const char*>> {
 protected:
  static void check() {
    const auto& [name, compiler] = GetParam();
    if (!has(compiler)) GTEST_SKIP() << "this system has no " << compiler;
    const std::string path = std::string(COMPILE_ERRORS_SOURCES) + "/" + name + ".cc";
    const std::string error = expected(path, compiler);
    const Compiled compiled = run(command_of(compiler, header->use(compiler)) + "-fsyntax-only " +
                                  (error.empty() ? "-Wpedantic -Wno-extra-semi -Werror " : "") + path);
    EXPECT_EQ(compiled.status == 0, error.empty()) << compiled.output;
    EXPECT_THAT(compiled.first_error(), HasSubstr(error)) << compiled.output;
  }
};
class CallbackErrors : public CompileErrors {};

// The C++ headers end a compiler's list of errors after the one that helps.
TEST(Languages, T_154_WithoutExceptionsOrCpp17TheOneErrorNamesAbiH) {
  const struct {
    const char *flag, *said;
  } cases[] = {{"-fno-exceptions", "the C++ SDK needs exceptions; with -fno-exceptions use belay/abi.h"},
               {"-std=c++14", "the C++ SDK needs C++17 (-std=c++17); with an older standard use belay/abi.h"}};
  for (const char* compiler : {"g++", "clang++"}) {
    if (!has(compiler)) continue;
    for (const auto& c : cases) {
      const Compiled compiled = run("echo '#include <belay/plugin.h>' | " + command_of(compiler, c.flag) +
                                    (c.flag[1] == 's' ? "-std=c++14 " : "") + "-fsyntax-only -x c++ -");
      EXPECT_NE(compiled.status, 0);
      EXPECT_THAT(compiled.first_error(), HasSubstr(c.said)) << compiled.output;
      EXPECT_LT(std::count(compiled.output.begin(), compiled.output.end(), '\n'), 20) << compiled.output;
    }
  }
}

TEST(Languages, T_154_AbiHIsReadByACompilerForC89) {
  for (const char* compiler : {"gcc", "clang"}) {
    if (!has(compiler)) continue;
    const Compiled compiled = run("echo '#include <belay/abi.h>' | LC_ALL=C " + std::string(compiler) +
                                  " -std=c89 -I " BELAY_SOURCE_DIR "/sdk/include -fsyntax-only -x c -");
    EXPECT_EQ(compiled.status, 0) << compiled.output;
  }
}

std::string name_of(const ::testing::TestParamInfo<std::tuple<std::string, const char*>>& test) {
  return std::get<0>(test.param) + (std::get<1>(test.param) == std::string("g++") ? "_gcc" : "_clang");
}

TEST_P(CallbackErrors, T_21_ACallbackThatWouldNeverBeCalledIsTheFirstError) { check(); }
INSTANTIATE_TEST_SUITE_P(Sources, CallbackErrors,
                         ::testing::Combine(::testing::ValuesIn(sources(true)), ::testing::Values("g++", "clang++")),
                         name_of);

TEST_P(CompileErrors, T_29a_TheFirstErrorNamesTheMistake) { check(); }
INSTANTIATE_TEST_SUITE_P(Sources, CompileErrors,
                         ::testing::Combine(::testing::ValuesIn(sources(false)), ::testing::Values("g++", "clang++")),
                         name_of);

}  // namespace
