// SPDX-License-Identifier: Apache-2.0
// The team of threads is the host's responsibility. The environment, the processors and the plugins may change OpenMP's
// settings. A run has the team that it was asked for, or reports that it cannot.
#include <gmock/gmock.h>
#include <sched.h>

#include <cstdlib>
#include <fstream>
#include <optional>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr int kSteps = 4;

// Removes a variable of this process, which the programs that it starts inherit.
class Without {
 public:
  explicit Without(const char* name) : name_(name) {
    if (const char* value = std::getenv(name)) value_ = value;
    ::unsetenv(name);
  }
  ~Without() {
    if (value_) ::setenv(name_, value_->c_str(), 1);
  }
  Without(const Without&) = delete;
  Without& operator=(const Without&) = delete;

 private:
  const char* name_;
  std::optional<std::string> value_;
};

// Holds this process, and those that it starts, to one of its processors.
class OneProcessor {
 public:
  OneProcessor() {
    ::sched_getaffinity(0, sizeof(before_), &before_);
    cpu_set_t one;
    CPU_ZERO(&one);
    for (int i = 0; i < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++i)
      if (CPU_ISSET(i, &before_)) CPU_SET(i, &one);
    ::sched_setaffinity(0, sizeof(one), &one);
  }
  ~OneProcessor() { ::sched_setaffinity(0, sizeof(before_), &before_); }
  OneProcessor(const OneProcessor&) = delete;
  OneProcessor& operator=(const OneProcessor&) = delete;

 private:
  cpu_set_t before_;
};

struct Model {
  const char* name;
  const char* example;
  std::vector<std::string> sets;  // that make it small, and need no data
};

void PrintTo(const Model& model, std::ostream* out) { *out << model.name; }

class TeamOf : public RunTest, public ::testing::WithParamInterface<Model> {
 protected:
  // An example, a few steps of it. `variables`: of its environment.
  ProcessResult train(const std::string& name, int threads, const std::vector<std::string>& variables = {},
                      const std::string& change = "") {
    const std::string original = BELAY_SOURCE_DIR "/examples/" + std::string(GetParam().example) + ".toml";
    std::string manifest = contents(original);
    manifest.resize(manifest.find("[input.eval]"));
    const std::string rest = contents(original);
    manifest += rest.substr(rest.find("[model]"));
    if (!change.empty()) manifest += "\n[[hooks]]\nplugin = \"unsettling\"\nchange = \"" + change + "\"\n";
    write_file(temp / (name + ".toml"), manifest);
    std::vector<std::string> args = {"run", temp / (name + ".toml")};
    std::vector<std::string> sets = {"run.dir=\"" + (temp / name) + "\"", "run.max_steps=" + std::to_string(kSteps),
                                     "run.threads=" + std::to_string(threads)};
    sets.insert(sets.end(), GetParam().sets.begin(), GetParam().sets.end());
    for (const std::string& set : sets) args.insert(args.end(), {"--set", set});
    return belay(args, variables);
  }
  std::string weights(const std::string& name) {
    return contents(temp / (name + "/model.ckpt-" + std::to_string(kSteps) + "/model.safetensors"));
  }
  std::string state(const std::string& name) {
    return contents(temp / (name + "/model.ckpt-" + std::to_string(kSteps) + "/state"));
  }
  std::string trained(const std::string& name, int threads, const std::vector<std::string>& variables = {},
                      const std::string& change = "") {
    const ProcessResult r = train(name, threads, variables, change);
    EXPECT_EQ(r.status, 0) << name << "\n" << r.err;
    EXPECT_FALSE(weights(name).empty()) << name;
    return weights(name);
  }
};

TEST_P(TeamOf, T_50a_TheEnvironmentAndTheProcessorsChangeNoBit) {
  const std::string two = trained("two", 2);
  const struct {
    const char *name, *variable;
  } cases[] = {{"dynamic", "OMP_DYNAMIC=true"},        {"levels", "OMP_MAX_ACTIVE_LEVELS=0"},
               {"threads", "OMP_NUM_THREADS=1"},       {"spins", "GOMP_SPINCOUNT=0"},
               {"passive", "OMP_WAIT_POLICY=passive"}, {"limit", "OMP_THREAD_LIMIT=2"},
               {"bound", "OMP_PROC_BIND=close"}};
  for (const auto& c : cases) EXPECT_TRUE(trained(c.name, 2, {c.variable}) == two) << c.variable;
  const OneProcessor one;
  EXPECT_TRUE(trained("one processor", 2) == two);
}

TEST_P(TeamOf, T_50a_EightThreadsOnFewerProcessorsAreEightThreads) {
  const std::string eight = trained("eight", 8);
  EXPECT_TRUE(trained("dynamic", 8, {"OMP_DYNAMIC=true"}) == eight);
}

TEST_P(TeamOf, T_50b_NoSettingThatAHookMakesChangesABit) {
  const std::string two = trained("two", 2);
  for (const char* change :
       {"num_threads", "dynamic", "nested", "max_active_levels", "schedule", "num_teams", "teams_thread_limit",
        "default_device", "default_allocator", "affinity_format", "pause", "own_team", "all"})
    EXPECT_TRUE(trained(change, 2, {}, change) == two) << change;
}

TEST_P(TeamOf, T_50c_ALimitBelowTheTeamIsStatusTwo) {
  const ProcessResult r = train("limited", 2, {"OMP_THREAD_LIMIT=1"});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_EQ(lines_with(r.err, "OMP_THREAD_LIMIT in the environment allows 1 thread, not 2").size(), 1u) << r.err;
  EXPECT_FALSE(std::filesystem::exists(temp / "limited"));
}

TEST_P(TeamOf, T_50d_OneProcessorOrALimitOfOneIsOneThread) {
  const std::string one = trained("one", 1);
  EXPECT_TRUE(trained("limited", 0, {"OMP_THREAD_LIMIT=1"}) == one);
  const OneProcessor processor;
  EXPECT_TRUE(trained("automatic", 0) == one);
  for (const char* name : {"limited", "automatic"})
    EXPECT_EQ(lines_with(state(name), "\"fingerprint\": {\"threads\":1,").size(), 1u) << state(name);
}

INSTANTIATE_TEST_SUITE_P(
    Models, TeamOf,
    ::testing::Values(Model{"mlp", "digits", {}},
                      Model{"cnn", "digits", {"model={plugin=\"cnn\", image=[28, 28], filters=[8, 16], dense=[32]}"}},
                      Model{"transformer",
                            "shakespeare_transformer",
                            {"input.train.files=[\"" BELAY_SOURCE_DIR "/docs/design/lifecycle.md\"]", "model.layers=1",
                             "model.width=64", "model.feed_forward=128"}}),
    [](const auto& model) { return std::string(model.param.name); });

// ---- waiting

class Waiting : public RunTest {
 protected:
  // A run that continues until it is stopped.
  std::string endless() {
    const std::string path = regression("", "", 1'000'000'000);
    write_file(path, replaced(contents(path), "threads = 1", "threads = 2"));
    return path;
  }
  // A line of a process's environment as it was when the program started.
  static std::string started_with(pid_t pid, const std::string& name) {
    const std::string all = contents("/proc/" + std::to_string(pid) + "/environ");
    std::size_t at = 0;
    while (at < all.size()) {
      const std::string variable = all.c_str() + at;
      if (variable.rfind(name + "=", 0) == 0) return variable.substr(name.size() + 1);
      at += variable.size() + 1;
    }
    return "not set";
  }
};

TEST_F(Waiting, T_40a_ItsSpinningIsBoundedBeforeLibgompStarts) {
  const Without none("GOMP_SPINCOUNT");
  BelayProcess run({"run", endless()});
  ASSERT_TRUE(run.wait_until([&] { return std::filesystem::exists(temp / "run/checkpoint"); }));
  EXPECT_THAT(started_with(run.pid(), "GOMP_SPINCOUNT"), ::testing::MatchesRegex("[1-9][0-9]*00"));
  const std::string proc = "/proc/" + std::to_string(run.pid());
  EXPECT_EQ(contents(proc + "/comm"), "belay\n");
  EXPECT_NE(contents(proc + "/cmdline").find(std::string("run\0", 4) + temp.path()), std::string::npos);
  run.kill(SIGTERM);
  const ProcessResult r = run.wait();
  EXPECT_EQ(lines_with(r.err, "spin").size(), 0u) << r.err;
}

TEST_F(Waiting, T_40a_WhatTheUserHasSetIsLeftAlone) {
  const Without none("GOMP_SPINCOUNT");
  const std::string manifest = endless();
  for (const char* set : {"OMP_WAIT_POLICY=active", "GOMP_SPINCOUNT=7"}) {
    std::filesystem::remove_all(temp / "run");
    BelayProcess run({"run", manifest}, {set});
    ASSERT_TRUE(run.wait_until([&] { return std::filesystem::exists(temp / "run/checkpoint"); }));
    EXPECT_EQ(started_with(run.pid(), "GOMP_SPINCOUNT"), std::string(set) == "GOMP_SPINCOUNT=7" ? "7" : "not set");
    run.kill(SIGTERM);
    EXPECT_EQ(lines_with(run.wait().err, "spin").size(), 0u) << set;
  }
}

// As a program under the dynamic linker's own name, belay does not know what to execute.
TEST_F(Waiting, T_40b_WhereItCannotExecuteItselfItWarnsAndGoesOn) {
  const char* linker = "/lib64/ld-linux-x86-64.so.2";
  if (!std::filesystem::exists(linker)) GTEST_SKIP() << "SKIPPED: there is no " << linker;
  const Without none("GOMP_SPINCOUNT");
  const std::string manifest = regression();
  write_file(manifest, replaced(contents(manifest), "threads = 1", "threads = 2"));
  const std::string told = temp / "told";
  const int status = std::system(("ASAN_OPTIONS=detect_leaks=0 BELAY_PLUGIN_PATH=" + tested_plugins() + " " +
                                  std::string(linker) + " " + tested_belay() + " run " + manifest + " 2>" + told)
                                     .c_str());
  EXPECT_EQ(status, 0) << contents(told);
  EXPECT_EQ(lines_with(contents(told), "set GOMP_SPINCOUNT=").size(), 1u) << contents(told);
}

// ---- messages to a run that continues

class Fingerprints : public RunTest {
 protected:
  std::string warning(const ProcessResult& r) {
    const auto lines = lines_with(r.err, "may not end with the same bits");
    return lines.size() == 1 ? lines[0].substr(lines[0].find("stopped: ") + 9) : "no warning\n" + r.err;
  }
  ProcessResult go_on(int steps, const std::vector<std::string>& variables = {}) {
    return belay({"run", manifest_, "--set", "run.max_steps=" + std::to_string(steps)}, variables);
  }
  // The regression on one of the two builds of the input `numbers`.
  void take_build(const std::string& file) {
    std::filesystem::remove(temp / "numbers.so");
    std::filesystem::copy_file(BELAY_BINARY_DIR "/tests/e2e/" + file, temp / "numbers.so");
  }
  void SetUp() override {
    manifest_ = regression();
    write_file(manifest_, replaced(contents(manifest_), "plugin = \"numbers\"", "file = \"./numbers.so\""));
    take_build("plugins/numbers.so");
  }
  std::string manifest_;
};

TEST_F(Fingerprints, T_51_AnInstructionSetOfOneDnnThatIsNotTheSameIsAWarning) {
  ASSERT_EQ(go_on(10, {"ONEDNN_MAX_CPU_ISA=SSE41"}).status, 0);
  const ProcessResult again = go_on(20, {"ONEDNN_MAX_CPU_ISA=SSE41"});
  EXPECT_EQ(again.status, 0);
  EXPECT_EQ(lines_with(again.err, "same bits").size(), 0u) << again.err;
  EXPECT_THAT(warning(go_on(30, {"ONEDNN_MAX_CPU_ISA=AVX"})),
              ::testing::MatchesRegex("oneDNN was [0-9.]+ sse41, is [0-9.]+ avx"));
}

TEST_F(Fingerprints, T_51_AnotherVersionOfOneDnnAndOfTheCLibraryIsAWarningAndRefusedByExact) {
  if (sanitized()) GTEST_SKIP() << "a sanitizer's runtime cannot come behind a preloaded library";
  ASSERT_EQ(go_on(10).status, 0);
  const std::vector<std::string> others = {"LD_PRELOAD=" BELAY_OTHER_LIBRARIES};
  const ProcessResult exact = belay({"run", manifest_, "--exact", "--set", "run.max_steps=20"}, others);
  EXPECT_EQ(exact.status, 2) << exact.err;
  const std::string since = "--exact: since model.ckpt-10 was saved ";
  EXPECT_EQ(lines_with(exact.err, since + "oneDNN was ").size(), 1u) << exact.err;
  EXPECT_EQ(lines_with(exact.err, since + "C library was glibc ").size(), 1u) << exact.err;
  EXPECT_FALSE(std::filesystem::exists(temp / "run/model.ckpt-20"));
  EXPECT_THAT(warning(go_on(20, others)), ::testing::MatchesRegex("oneDNN was [0-9.]+ [^;]*, is 99\\.0\\.0 [^;]*; "
                                                                  "C library was glibc [0-9.]+, is glibc 9\\.99"));
}

TEST_F(Fingerprints, T_51_APluginThatWasBuiltAnewIsAWarning) {
  ASSERT_EQ(go_on(10).status, 0);
  take_build("anew/numbers_anew.so");
  EXPECT_EQ(warning(go_on(20)), "built anew since: input:numbers");
  EXPECT_EQ(lines_with(go_on(30).err, "same bits").size(), 0u);
}

TEST_F(Fingerprints, T_41c_HowDenormalsAreTreatedIsInTheCheckpoint) {
  ASSERT_EQ(go_on(10).status, 0);
  const std::string state = temp / "run/model.ckpt-10/state";
  EXPECT_NE(contents(state).find("\"floating_point\":\"denormals flushed\""), std::string::npos) << contents(state);
}

}  // namespace
}  // namespace belay::runtime::testing
