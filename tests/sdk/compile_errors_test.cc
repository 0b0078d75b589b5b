// SPDX-License-Identifier: Apache-2.0
// What a compiler says about a plugin that is written wrongly: each source of compile_errors/ states in its first line
// the message that must be among the errors. As C++17, with the compiler of this build.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

struct Compiled {
  int status;
  std::string output;
};

Compiled compile(const std::filesystem::path& source) {
  const std::string command = std::string(COMPILE_ERRORS_COMPILER) + " -std=c++17 -fsyntax-only -I " +
                              BELAY_SOURCE_DIR + "/sdk/include " + source.string() + " 2>&1";
  FILE* pipe = ::popen(command.c_str(), "r");
  if (pipe == nullptr) return {-1, "cannot run " + command};
  std::string output;
  std::array<char, 4096> part;
  for (std::size_t n; (n = std::fread(part.data(), 1, part.size(), pipe)) != 0;) output.append(part.data(), n);
  return {::pclose(pipe), output};
}

class CompileErrors : public testing::TestWithParam<std::string> {};

TEST_P(CompileErrors, NameTheMistake) {
  const std::filesystem::path source = std::filesystem::path(COMPILE_ERRORS_SOURCES) / (GetParam() + ".cc");
  std::ifstream file(source);
  std::string licence, first_line;
  ASSERT_TRUE(std::getline(file, licence) && std::getline(file, first_line)) << source;
  const std::string mark = "// expect: ";
  const Compiled compiled = compile(source);
  if (first_line.rfind(mark, 0) != 0) {
    EXPECT_EQ(compiled.status, 0) << compiled.output;
    return;
  }
  EXPECT_NE(compiled.status, 0);
  EXPECT_NE(compiled.output.find(first_line.substr(mark.size())), std::string::npos) << compiled.output;
}

INSTANTIATE_TEST_SUITE_P(Sources, CompileErrors,
                         testing::Values("good_hook", "misspelt_signature", "const_callback", "bad_name", "no_kind",
                                         "option_type", "range_of_text", "choices_of_number", "default_out_of_range",
                                         "default_no_choice"),
                         [](const auto& source) { return source.param; });

}  // namespace
