// SPDX-License-Identifier: Apache-2.0
// One host, and the same hook from every toolchain that is installed, all in this process: nothing but plain data
// crosses, so all of them work.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <iostream>
#include <limits>

#include "belay/testing/error_of.h"
#include "runtime/loader/instance/instance.h"
#include "tests/abi/compilers.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;

struct Toolchain {
  const char* name;     // of the library
  const char* command;  // the compiler first
  const char* source = "hand_built_hook.cc";
  const char* needs = "";  // a header that this compiler may lack
};

constexpr Toolchain kToolchains[] = {
    {"gcc_17", "g++ -std=c++17"},
    {"gcc_20", "g++ -std=c++20 -O2"},
    {"gcc_23", "g++ -std=c++23"},
    {"gcc_hidden", "g++ -std=c++17 -fvisibility=hidden"},
    {"gcc_no_rtti", "g++ -std=c++17 -fno-rtti"},
    {"gcc_debug_containers", "g++ -std=c++17 -D_GLIBCXX_DEBUG"},
    {"gcc_old_strings", "g++ -std=c++17 -D_GLIBCXX_USE_CXX11_ABI=0"},
    {"gcc_static", "g++ -std=c++17 -static-libstdc++ -static-libgcc"},
    {"gcc_native", "g++ -std=c++17 -O3 -march=native"},
    {"gcc_fast_math", "g++ -std=c++17 -O2 -ffast-math"},
    {"gcc_lto", "g++ -std=c++17 -O2 -flto"},
    {"gcc_stripped", "g++ -std=c++17 -O2 -s"},
    {"clang_17", "clang++ -std=c++17"},
    {"clang_20", "clang++ -std=c++20 -O2"},
    {"clang_libcxx", "clang++ -std=c++17 -stdlib=libc++", "hand_built_hook.cc", "string"},
    {"rust", "rustc --edition 2021 --crate-type cdylib -C opt-level=2", "rust_hook.rs"},
    {"go", "go build -buildmode=c-shared", "go_hook"},
};

class ToolchainsTest : public ::testing::Test {
 protected:
  // Compiles; returns false, and prints it, if the machine cannot.
  bool build(const Toolchain& t) const {
    const std::string command = t.command;
    const std::string missing =
        !has_command(command.substr(0, command.find(' '))) ? command.substr(0, command.find(' '))
        : *t.needs != 0 &&
                run("echo '#include <" + std::string(t.needs) + ">' | " + command + " -x c++ -fsyntax-only -").status !=
                    0
            ? "its standard library"
            : "";
    if (!missing.empty()) {
      std::cerr << "SKIPPED: " << t.name << ": " << missing << " is not installed\n";
      return false;
    }
    const Output built = compiled(t);
    EXPECT_EQ(built.status, 0) << t.command << "\n" << built.text;
    return built.status == 0;
  }
  Output compiled(const Toolchain& t) const {
    const std::string command = t.command, to = "-o '" + file(t) + "' ";
    if (command.rfind("rustc", 0) == 0) return run(command + " " + to + "'" + source(t.source) + "'");
    if (command.rfind("go", 0) == 0)
      return run("cd '" + source(t.source) + "' && GO111MODULE=off GOCACHE='" + folder_.file("go_cache") +
                 "' CPATH='" BELAY_SOURCE_DIR "/sdk/include' " + command + " " + to + ".");
    return compile(command + " -Wall -Wextra -Werror -shared -fPIC", t.source, file(t));
  }
  std::string file(const Toolchain& t) const { return folder_.file(std::string(t.name) + ".so"); }
  PluginInstance& create(const Toolchain& t, double max) {
    const RegisteredPlugin& plugin = *registry_.find(PluginKind::kHook, "hand_built", file(t));
    ResolvedPlugin use;
    use.instance_name = t.name;
    use.options.add("max", max, OptionType::kFloat);
    return instances_.create(plugin, use, services_, monitor_);
  }

  const belay::testing::TemporaryFolder folder_;
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
  RecordingLogger logger_;
  FakeClock clock_;
  const HostServices services_{logger_, clock_, "", 1};
  CallMonitor monitor_;
  PluginInstances instances_;
};

TEST_F(ToolchainsTest, TheSameHookFromEachOfThemRunsInOneProcess) {
  // Two compilers at a time.
  std::vector<const Toolchain*> built;
  for (std::size_t i = 0; i < std::size(kToolchains); i += 2) {
    auto second =
        std::async(std::launch::async, [&] { return i + 1 < std::size(kToolchains) && build(kToolchains[i + 1]); });
    if (build(kToolchains[i])) built.push_back(&kToolchains[i]);
    if (second.get()) built.push_back(&kToolchains[i + 1]);
  }
  ASSERT_GE(built.size(), 12u) << "g++ alone builds twelve";

  std::vector<PluginInstance*> hooks;
  for (const Toolchain* t : built) {
    registry_.add_loaded(loader_.load(file(*t)));
    hooks.push_back(&create(*t, 2.5));
    EXPECT_EQ(logger_.lines.back(), std::string("info ") + t->name + ": max 2.500000");
  }
  for (int round = 0; round < 2; ++round) {
    for (std::size_t i = 0; i < built.size(); ++i) {
      EXPECT_EQ(error_of([&] { hooks[i]->call("end", &belay_hook_api::end, static_cast<belay_session*>(nullptr)); }),
                std::string("UNKNOWN: hook \"") + built[i]->name + "\" of \"hand_built\" (" + built[i]->name +
                    ".so 0.0.1) in end: thrown on purpose");
      EXPECT_FALSE(hooks[i]->poisoned());
    }
  }
  for (const Toolchain* t : built)
    EXPECT_EQ(error_of([&] { create(*t, -1.0); }), std::string("INVALID_ARGUMENT: cannot create hook \"") + t->name +
                                                       "\" of \"hand_built\" (" + t->name + ".so 0.0.1) of '" +
                                                       file(*t) + "': 'max' is -1, must be >= 0");
  // -ffast-math sets flush-to-zero for the thread that loads it.
  volatile float tiny = std::numeric_limits<float>::denorm_min();
  EXPECT_GT(tiny * 1.0f, 0.0f) << "a plugin changed the floating-point mode";
}

}  // namespace
}  // namespace belay::runtime
