// SPDX-License-Identifier: Apache-2.0
// abi.h means the same to every compiler and language level, and is all that a plugin in C needs.
#include <belay/abi.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>
#include <sstream>

#include "belay/testing/error_of.h"
#include "runtime/loader/instance/instance.h"
#include "tests/abi/compilers.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const char* const kC = "gcc -std=c11";
const char* const kCxx = "g++ -x c++ -std=c++20";

std::string layout_by(const std::string& compiler, const TemporaryFolder& folder) {
  const Output built = compile(compiler, "layout.c", folder.file("layout"));
  EXPECT_EQ(built.status, 0) << compiler << "\n" << built.text;
  return run("'" + folder.file("layout") + "'").text;
}

TEST(Abi, HasTheSameLayoutInCAndCxx) {
  const TemporaryFolder folder;
  const std::string c = layout_by(kC, folder);
  EXPECT_NE(c.find("belay_hook_api size 112\n"), std::string::npos) << c;
  EXPECT_EQ(layout_by(kCxx, folder), c);
}

TEST(Abi, HasTheSameLayoutWithClang) {
  if (!has_command("clang") || !has_command("clang++")) GTEST_SKIP() << "clang is not installed";
  const TemporaryFolder folder;
  const std::string c = layout_by(kC, folder);
  EXPECT_EQ(layout_by("clang -std=c11", folder), c);
  EXPECT_EQ(layout_by("clang++ -x c++ -std=c++20", folder), c);
}

TEST(Abi, TheLayoutCheckKnowsEveryStructAndEveryField) {
  const TemporaryFolder folder;
  std::istringstream lines(layout_by(kC, folder));
  std::set<std::string> known;
  std::string name, field, word;
  std::size_t size = 0, end = 0;
  // Fields follow each other without a gap: one that is not listed would leave one.
  const auto finish = [&] { EXPECT_EQ(end, size) << name << " ends after its last listed field"; };
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    if (line[0] != ' ') {
      if (!name.empty()) finish();
      words >> name >> word >> size;
      known.insert(name);
      end = 0;
      continue;
    }
    std::size_t offset = 0, length = 0;
    words >> field >> offset >> length;
    EXPECT_EQ(offset, end) << "before " << name << "." << field;
    end = offset + length;
  }
  finish();
  std::set<std::string> defined;
  const std::string before = "typedef struct ";
  for (const auto& part : std::filesystem::directory_iterator(BELAY_SOURCE_DIR "/sdk/include/belay/abi")) {
    const std::string header = bytes_of(part.path().string());
    for (std::size_t at = header.find(before); at != std::string::npos; at = header.find(before, at + 1)) {
      const std::string rest = header.substr(at + before.size(), header.find('\n', at) - at - before.size());
      if (rest.size() > 2 && rest.substr(rest.size() - 2) == " {") defined.insert(rest.substr(0, rest.size() - 2));
    }
  }
  EXPECT_EQ(known, defined);
}

TEST(Abi, B_15_TheListOfSlotsIsThatOfTheHeaders) {
  const TemporaryFolder folder;
  const std::string layout = folder.write("layout.txt", layout_by(kC, folder));
  const Output listed = run("python3 -B '" + source("slots.py") + "' '" BELAY_SOURCE_DIR "/sdk/include/belay/abi' '" +
                            layout + "'");
  ASSERT_EQ(listed.status, 0) << listed.text;
  EXPECT_EQ(listed.text, bytes_of(BELAY_SOURCE_DIR "/docs/design/abi-slots.tsv"))
      << "make the list anew: tests/abi/slots.py says how";
  EXPECT_THAT(listed.text, HasSubstr("\nbelay_hook_api\tbegin\t32\tint32_t (*)(void* self, belay_graph* graph, "
                                     "belay_status* status)\n"));
}

TEST(Abi, TheHeadOfTheModuleIsFrozen) {
  EXPECT_EQ(offsetof(belay_module, magic), 0u);
  EXPECT_EQ(offsetof(belay_module, struct_size), 8u);
  EXPECT_EQ(offsetof(belay_module, abi_major), 12u);
  EXPECT_EQ(offsetof(belay_module, abi_minor), 16u);
  EXPECT_EQ(offsetof(belay_module, flags), 20u);
  EXPECT_EQ(offsetof(belay_module, reserved), 24u);
  EXPECT_EQ(offsetof(belay_module, note), 32u);
}

TEST(Abi, CompilesWithoutAWarningAtEveryLanguageLevel) {
  const TemporaryFolder folder;
  const std::string strict = " -Wall -Wextra -Wpedantic -Wconversion -Wundef -Wshadow -Werror";
  std::vector<std::string> compilers = {"gcc -std=c11", "gcc -std=c17", "g++ -x c++ -std=c++17",
                                        "g++ -x c++ -std=c++20", "g++ -x c++ -std=c++23"};
  if (has_command("clang++"))
    for (const char* more :
         {"clang -std=c11", "clang -std=c17", "clang++ -x c++ -std=c++17", "clang++ -x c++ -std=c++20"})
      compilers.emplace_back(more);
  for (const std::string& compiler : compilers) {
    const Output built = compile(compiler + strict, "pedantic.c", folder.file("pedantic"));
    EXPECT_EQ(built.status, 0) << compiler << "\n" << built.text;
    EXPECT_EQ(run("'" + folder.file("pedantic") + "'").status, 0) << compiler;
  }
}

// As much of a graph and a session as the C hook uses.
struct FakeRun {
  std::string stop_reason;
};
std::int32_t find(belay_graph*, belay_str name, belay_output* output, belay_status* status) {
  if (detail::view(name) != "loss") return detail::report(status, BELAY_NOT_FOUND, "no such tensor");
  *output = {1, 5, 0};
  return BELAY_OK;
}
void request_stop(belay_run* run, belay_str reason) {
  reinterpret_cast<FakeRun*>(run)->stop_reason = detail::view(reason);
}

class CHookTest : public ::testing::TestWithParam<const char*> {
 protected:
  CHookTest() {
    graph_.struct_size = sizeof(graph_);
    graph_.find = &find;
    session_.struct_size = sizeof(session_);
    session_.run_request_stop = &request_stop;
    services_.add("graph", &graph_);
    services_.add("session", &session_);
  }
  PluginInstance& make(const std::string& tensor) {
    const LoadedLibrary& library = loader_.load(folder_.file("c_hook.so"));
    registry_.add_loaded(library);
    ResolvedPlugin use;
    use.instance_name = "c_ceiling";
    use.options.add("max", 2.5, OptionType::kFloat);
    use.options.add("tensor", tensor, OptionType::kString);
    return instances_.create(*registry_.find(PluginKind::kHook, "c_ceiling"), use, services_, monitor_);
  }
  // One run in which the loss has this value.
  static std::string step(PluginInstance& hook, float loss) {
    FakeRun run;
    auto* raw = reinterpret_cast<belay_run*>(&run);
    auto args = belay::detail::sized<belay_run_args>();
    hook.call("before_run", &belay_hook_api::before_run, raw, &args);
    EXPECT_EQ(args.n_fetches, 1u);
    EXPECT_EQ(args.fetches[0].node, 5u);
    const belay_tensor value = belay::detail::raw_tensor(belay::DType::kFloat32, 0, nullptr, &loss, sizeof(loss));
    auto values = belay::detail::sized<belay_run_values>();
    values.results = &value, values.n_results = 1;
    hook.call("after_run", &belay_hook_api::after_run, raw, static_cast<const belay_run_values*>(&values));
    return run.stop_reason;
  }

  TemporaryFolder folder_;
  RecordingLogger logger_;
  FakeClock clock_;
  HostServices services_{logger_, clock_, "", 1};
  belay_graph_api graph_{};
  belay_session_api session_{};
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
  CallMonitor monitor_;
  PluginInstances instances_;
};

TEST_P(CHookTest, WrittenWithAbiHAloneLoadsAndRuns) {
  const std::string compiler = GetParam();
  if (!has_command(compiler.substr(0, compiler.find(' ')))) GTEST_SKIP() << compiler << " is not installed";
  const Output built =
      compile(compiler + " -Wall -Wextra -Wpedantic -Werror -shared -fPIC -O2", "c_hook.c", folder_.file("c_hook.so"));
  ASSERT_EQ(built.status, 0) << built.text;
  PluginInstance& hook = make("loss");
  hook.call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr));
  EXPECT_EQ(step(hook, 2.0f), "");
  EXPECT_EQ(step(hook, 3.0f), "loss is 3, above 2.5");
  hook.call("end", &belay_hook_api::end, static_cast<belay_session*>(nullptr));
  EXPECT_THAT(logger_.lines, ElementsAre("warning c_ceiling: loss is 3, above 2.5"));
  PluginInstance& other = make("los");
  EXPECT_EQ(error_of([&] { other.call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr)); }),
            "NOT_FOUND: hook \"c_ceiling\" (c_hook.so 2.1.0) in begin: no such tensor");
}

INSTANTIATE_TEST_SUITE_P(Compilers, CHookTest, ::testing::Values("gcc -std=c11", "clang -std=c11"));

}  // namespace
}  // namespace belay::runtime
