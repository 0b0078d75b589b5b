// SPDX-License-Identifier: Apache-2.0
// docs/plugins/*.md against the headers, and every whole program that a page shows against the compiler.
#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>

#include "tests/docs/page.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAreArray;
using ::testing::UnorderedElementsAreArray;

struct Kind {
  const char* page;
  const char* header;
  const char* base;  // the class to derive from
};
constexpr Kind kKinds[] = {{"hook", "hook.h", "Hook"},
                           {"saver", "saver.h", "Saver"},
                           {"init_fn", "init_fn.h", "InitFn"},
                           {"model", "model.h", "Model"},
                           {"input", "input.h", "Input"},
                           {"op", "op.h", "Op"},
                           {"optimizer", "optimizer.h", "Optimizer"},
                           {"schedule", "schedule.h", "Schedule"},
                           {"exporter", "exporter.h", "Exporter"},
                           {"cluster", "cluster.h", "Cluster"}};

// Names of the virtual functions of `class base : public Plugin`, in their order.
std::vector<std::string> callbacks_of(const std::string& header, const std::string& base) {
  const std::size_t begin = header.find("class " + base + " : public Plugin {");
  const std::string body = begin == header.npos ? "" : header.substr(begin, header.find("\n};", begin) - begin);
  static const std::regex callback(R"(virtual [\w:<>]+ (\w+)\()");
  std::vector<std::string> names;
  for (std::sregex_iterator it(body.begin(), body.end(), callback), end; it != end; ++it) names.push_back(it->str(1));
  return names;
}

class KindPage : public ::testing::TestWithParam<Kind> {
 protected:
  const std::vector<PageSection> sections_ =
      sections_of(read_source(std::string("docs/plugins/") + GetParam().page + ".md"));
};

TEST_P(KindPage, ListsTheCallbacksOfTheHeaderInTheirOrder) {
  const auto callbacks =
      callbacks_of(read_source(std::string("sdk/include/belay/") + GetParam().header), GetParam().base);
  ASSERT_FALSE(callbacks.empty());
  const PageSection* section = find_section(sections_, "Callbacks");
  ASSERT_NE(section, nullptr);
  EXPECT_THAT(first_column(section->rows), ElementsAreArray(callbacks));
}

TEST_P(KindPage, AnswersWhatEveryKindIsAsked) {
  for (const char* heading : {"Order", "Callbacks", "State", "Errors", "Testing", "Example"})
    EXPECT_NE(find_section(sections_, heading), nullptr) << heading;
}

INSTANTIATE_TEST_SUITE_P(Kinds, KindPage, ::testing::ValuesIn(kKinds),
                         [](const auto& test) { return std::string(test.param.page); });

TEST(ModelPage, ListsWhatAModelMayGive) {
  const std::string header = read_source("sdk/include/belay/model.h");
  static const std::regex setter(R"(\n  void (\w+)\()");  // `set`, which all of them call, is private
  std::set<std::string> setters;
  for (std::sregex_iterator it(header.begin(), header.end(), setter), end; it != end; ++it) setters.insert(it->str(1));
  setters.erase("set");
  const std::vector<PageSection> sections = sections_of(read_source("docs/plugins/model.md"));
  const PageSection* outputs = find_section(sections, "Outputs");
  ASSERT_NE(outputs, nullptr);
  EXPECT_THAT(first_column(outputs->rows), UnorderedElementsAreArray(setters));
}

constexpr const char* kCompile =
    BELAY_CXX_COMPILER " -std=c++17 -Wall -Wextra -Wshadow -Werror -fPIC -I" BELAY_SOURCE_DIR "/sdk/include ";

// A program of a sanitizer's build takes no library of another.
constexpr bool can_load_plugins() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return false;
#else
  return true;
#endif
}

// What `pkg-config --cflags belay-sdk` prints where the SDK is installed, with this tree's headers.
std::string pkg_config_flags() {
  std::ostringstream pc;
  pc << std::ifstream(BELAY_BINARY_DIR "/belay-sdk.pc").rdbuf();
  const std::string text = pc.str();
  std::smatch flags;
  EXPECT_TRUE(std::regex_search(text, flags, std::regex("\nCflags: -I\\$\\{includedir\\} (.*)\n"))) << text;
  return "-I" BELAY_SOURCE_DIR "/sdk/include " + flags.str(1);
}

class CompiledProgram : public ::testing::Test {
 protected:
  // Runs it with what it prints in `printed`; true where it ended with status 0.
  bool run(const std::string& command, std::string& printed) const {
    const std::string log = directory_ / "log";
    const int status = std::system((command + " >" + log + " 2>&1").c_str());
    std::ostringstream text;
    text << std::ifstream(log).rdbuf();
    printed = text.str();
    return status == 0;
  }
  TempDir directory_;
};

class ShownProgram : public CompiledProgram, public ::testing::WithParamInterface<std::string> {};

// Those that are a plugin pass `belay validate`, too; a test is only compiled.
TEST_P(ShownProgram, CompilesWithNothingButTheSdkAndKeepsTheContract) {
  const std::vector<std::string> programs = fenced_blocks(read_source(GetParam()), "cpp");
  ASSERT_FALSE(programs.empty());
  const std::string source = directory_ / "shown.cc", library = directory_ / "shown.so";
  for (const std::string& program : programs) {
    std::ofstream(source) << program;
    std::string printed;
    if (program.find("BELAY_MODULE(") == program.npos || !can_load_plugins()) {
      EXPECT_TRUE(run(kCompile + ("-fsyntax-only " + source), printed)) << printed;
      continue;
    }
    const std::string link = "-shared -pthread -Wl,--version-script=" BELAY_SOURCE_DIR "/sdk/cmake/plugin.version ";
    ASSERT_TRUE(run(kCompile + link + source + " -o " + library, printed)) << printed;
    EXPECT_TRUE(run(BELAY_BINARY_DIR "/bin/belay validate " + library, printed)) << printed;
  }
}

// The one line of docs/plugins/README.md, with the flags of the pkg-config file that is installed with the SDK.
TEST_F(CompiledProgram, T_22e_TheOneLineOfTheDocsMakesWhatValidateAccepts) {
  if (!can_load_plugins()) GTEST_SKIP() << "a sanitizer's program takes no library of another build";
  const std::string page = read_source("docs/plugins/README.md");
  EXPECT_THAT(page,
              ::testing::HasSubstr("g++ -std=c++17 -shared -fPIC my.cc $(pkg-config --cflags belay-sdk) -o my.so\n"));
  std::ofstream(directory_ / "my.cc") << fenced_blocks(read_source("docs/plugins/hook.md"), "cpp").at(0);
  std::string printed;
  const std::string line = BELAY_CXX_COMPILER " -std=c++17 -shared -fPIC my.cc " + pkg_config_flags() + " -o my.so";
  ASSERT_TRUE(run("cd " + directory_.path() + " && " + line, printed)) << printed;
  EXPECT_TRUE(run(BELAY_BINARY_DIR "/bin/belay validate " + directory_ / "my.so", printed)) << printed;
}

// README's hook and the line below it.
TEST_F(CompiledProgram, T_22e_TheReadmesHookAndLineMakeWhatValidateAccepts) {
  if (!can_load_plugins()) GTEST_SKIP() << "a sanitizer's program takes no library of another build";
  const std::string shown = code_block(read_source("README.md"), "#include <belay/plugin.h>");
  const std::size_t end = shown.find("\ng++ ");
  ASSERT_NE(end, shown.npos) << shown;
  std::ofstream(directory_ / "loss_ceiling.cc") << shown.substr(0, end);
  std::string line = shown.substr(end + 5, shown.find('\n', end + 1) - end - 5), printed;
  const std::string flags = "$(pkg-config --cflags belay-sdk)";
  ASSERT_NE(line.find(flags), line.npos) << line;
  line.replace(line.find(flags), flags.size(), pkg_config_flags());
  ASSERT_TRUE(run("cd " + directory_.path() + " && " BELAY_CXX_COMPILER " " + line, printed)) << printed;
  EXPECT_TRUE(run(BELAY_BINARY_DIR "/bin/belay validate " + directory_ / "loss_ceiling.so", printed)) << printed;
}

// The whole of a page about another language, in an empty directory: its program, its manifest, and each of its
// commands, with the flags of the pkg-config file. The run ends as on the page.
class LanguagePage : public CompiledProgram, public ::testing::WithParamInterface<std::string> {
 protected:
  static std::string replaced(std::string text, const std::string& from, const std::string& to) {
    const std::size_t at = text.find(from);
    return at == text.npos ? text : text.replace(at, from.size(), to);
  }
  static std::string block(const std::string& page, const std::string& language) {
    const std::vector<std::string> blocks = fenced_blocks(page, language);
    EXPECT_EQ(blocks.size(), 1u) << language;
    return blocks.empty() ? "" : blocks[0];
  }
};

TEST_P(LanguagePage, IsCompiledCheckedAndRunAsItStands) {
  if (!can_load_plugins()) GTEST_SKIP() << "a sanitizer's program takes no library of another build";
  const std::string page = read_source("docs/plugins/" + GetParam() + ".md");
  const std::string suffix = GetParam() == "c" ? ".c" : ".rs";
  std::ofstream(directory_ / "my_hook" + suffix) << block(page, GetParam());
  std::ofstream(directory_ / "my_hook.toml") << block(page, "toml");
  std::istringstream commands(block(page, "sh"));
  std::string printed, compiler;
  for (std::string command; std::getline(commands, command);) {
    if (compiler.empty()) {
      compiler = command.substr(0, command.find(' '));
      if (!run("command -v " + compiler, printed)) GTEST_SKIP() << "this system has no " << compiler;
      command += compiler == "rustc" ? " -D warnings" : " -Wall -Wextra -Werror";
    }
    command = replaced(command, "$(pkg-config --cflags belay-sdk)", pkg_config_flags());
    if (command.rfind("belay ", 0) == 0)
      command = "BELAY_PLUGIN_PATH=" BELAY_BINARY_DIR "/plugins " BELAY_BINARY_DIR "/bin/" + command;
    ASSERT_TRUE(run("cd " + directory_.path() + " && " + command, printed)) << command << "\n" << printed;
  }
  const std::string end = block(page, "text");
  EXPECT_THAT(printed, ::testing::HasSubstr(end.substr(0, end.find('\n'))));
}

INSTANTIATE_TEST_SUITE_P(Languages, LanguagePage, ::testing::Values("c", "rust"),
                         [](const auto& test) { return test.param; });

INSTANTIATE_TEST_SUITE_P(Pages, ShownProgram,
                         ::testing::Values("docs/plugins/hook.md", "docs/plugins/saver.md", "docs/plugins/init_fn.md",
                                           "docs/plugins/model.md", "docs/plugins/input.md", "docs/plugins/op.md",
                                           "docs/plugins/optimizer.md", "docs/plugins/schedule.md",
                                           "docs/plugins/exporter.md", "docs/plugins/cluster.md",
                                           "docs/design/threads-and-lifetimes.md", "docs/guide/write-a-hook.md"),
                         [](const auto& test) {
                           std::string name = fs::path(test.param).stem().string();
                           for (char& c : name)
                             if (c == '-') c = '_';
                           return name;
                         });

}  // namespace
}  // namespace belay::runtime
