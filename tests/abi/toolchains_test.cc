// One host, and a plugin from every toolchain that is installed: nothing but plain data crosses, so all of them work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/testing/error_of.h"
#include "runtime/loader/instance.h"
#include "tests/abi/compilers.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::ElementsAre;

class ToolchainsTest : public ::testing::TestWithParam<const char*> {};

TEST_P(ToolchainsTest, APluginBuiltByHandLoadsRunsAndThrowsAcrossTheBoundary) {
  const std::string compiler = GetParam();
  if (!has_command(compiler.substr(0, compiler.find(' ')))) GTEST_SKIP() << compiler << " is not installed";
  const belay::testing::TemporaryFolder folder;
  if (compiler.find("libc++") != std::string::npos &&
      run("echo '#include <string>' | " + compiler + " -x c++ -fsyntax-only -").status != 0)
    GTEST_SKIP() << "libc++ is not installed";
  const Output built =
      compile(compiler + " -Wall -Wextra -Werror -shared -fPIC", "hand_built_hook.cc", folder.file("hand_built.so"));
  ASSERT_EQ(built.status, 0) << compiler << "\n" << built.text;

  FilePolicy policy;
  const CpuFeatures cpu;
  Loader loader(policy, cpu, "");
  Registry registry;
  registry.add_loaded(loader.load(folder.file("hand_built.so")));
  RecordingLogger logger;
  FakeClock clock;
  const HostServices services(logger, clock, "", 1);
  CallMonitor monitor;
  const RegisteredPlugin& plugin = *registry.find(PluginKind::kHook, "hand_built");
  EXPECT_EQ(plugin.info.option("pattern")->default_value, OptionValue(std::string("lo+ss")));
  ResolvedPlugin use;
  use.instance_name = "hand_built";
  use.options.add("max", 2.5, OptionType::kFloat);
  {
    PluginInstance hook(plugin, use, services, monitor);
    EXPECT_EQ(error_of([&] { hook.call("end", &belay_hook_api::end, static_cast<belay_session*>(nullptr)); }),
              "UNKNOWN: hook \"hand_built\" (hand_built.so 0.0.1) in end: thrown on purpose");
    EXPECT_FALSE(hook.poisoned());
  }
  ResolvedPlugin bad;
  bad.instance_name = "hand_built";
  bad.options.add("max", -1.0, OptionType::kFloat);
  EXPECT_EQ(error_of([&] { PluginInstance hook(plugin, bad, services, monitor); }),
            "INVALID_ARGUMENT: cannot create hook \"hand_built\" (hand_built.so 0.0.1) of '" +
                folder.file("hand_built.so") + "': 'max' is -1, must be >= 0");
  EXPECT_THAT(logger.lines, ElementsAre("info hand_built: max 2.500000"));
}

INSTANTIATE_TEST_SUITE_P(Compilers, ToolchainsTest,
                         ::testing::Values("g++ -std=c++17", "g++ -std=c++20 -O2", "g++ -std=c++17 -fvisibility=hidden",
                                           "g++ -std=c++23", "g++ -std=c++17 -fno-rtti",
                                           "g++ -std=c++17 -D_GLIBCXX_DEBUG",
                                           "g++ -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0",
                                           "g++ -std=c++17 -static-libstdc++ -static-libgcc",
                                           "g++ -std=c++17 -O2 -flto", "clang++ -std=c++17", "clang++ -std=c++20 -O2",
                                           "clang++ -std=c++17 -stdlib=libc++"));

}  // namespace
}  // namespace belay::runtime
