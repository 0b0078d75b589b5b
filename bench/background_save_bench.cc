// SPDX-License-Identifier: Apache-2.0
// Measures the cost of saving in the background for a training, with 16 variables of MIB MiB in all.
// bench/background_save.py runs it and divides.
//
//   bench_background_save MIB THREADS ROUNDS DIRECTORY
//
// It prints these of each round, in milliseconds: a copy of as much from one thread's warm memory to other warm memory;
// the stall of a save, from the end of the last after_run until the run returns; the processor time of both; a step
// while nothing is written, as the mean over the time of a save; a step while the save is written; the time of that
// writing; the processor time of a save (copy and write) that the training waits for while it does nothing else.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/checkpoint.h"
#include "belay/ops/activations.h"
#include "belay/ops/control.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/random.h"
#include "belay/ops/variables.h"
#include "belay/plugin.h"
#include "plugins/default_plugins.h"
#include "runtime/estimator/host/monitored_training_session.h"
#include "runtime/ops/registry.h"

namespace {

namespace ops = belay::ops;
namespace runtime = belay::runtime;
using Clock = std::chrono::steady_clock;

constexpr std::int64_t kVariables = 16;

double ms_since(Clock::time_point start) {
  return std::chrono::duration<double, std::milli>(Clock::now() - start).count();
}

// Returns the processor time of this thread. The others may spin.
double processor_ms() {
  timespec t{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Times {
  double ms = 0, cpu_ms = 0;
};

// Asks for a checkpoint on request, and notes when it is finished.
class Asking final : public belay::Hook {
 public:
  bool ask = false, saved = false;
  Clock::time_point asked_at;
  double asked_at_cpu_ms = 0;
  void after_run(belay::RunContext&, const belay::RunValues&) override {
    if (!std::exchange(ask, false)) return;
    belay::save_checkpoint(host());
    saved = false;
    asked_at = Clock::now();
    asked_at_cpu_ms = processor_ms();
  }
  bool after_save(belay::Session&, const belay::Saved&) override {
    saved = true;
    return false;
  }
};

// A step is a product that uses none of the saved variables. These exist only to be saved.
struct Program {
  explicit Program(std::int64_t mib) : registry(runtime::make_op_registry()), graph(*registry) {
    const belay::Graph g = graph.handle();
    const std::int64_t elements = mib * (std::int64_t{1} << 20) / kVariables / 4;
    for (std::int64_t i = 0; i < kVariables; ++i)
      ops::variable(g, "v" + std::to_string(i), ops::random_uniform(g, {elements}, 0, 1));
    const belay::Output w = ops::variable(g, "w", ops::random_uniform(g, {512, 512}, 0, 1), ops::VariableKind::kLocal);
    const belay::Output product = ops::assign(w, ops::tanh(ops::matmul(w, w)));
    const belay::Output step = ops::create_global_step(g);
    const belay::Output counted = ops::assign_add(step, ops::constant(g, belay::Tensor(std::int64_t{1})));
    train = ops::group(g, {product, counted}, "train");
  }
  std::unique_ptr<runtime::OpRegistry> registry;
  runtime::NodeGraph graph;
  belay::Output train;
};

class Bench {
 public:
  Bench(std::int64_t mib, int threads, const std::string& directory, runtime::SaveMode mode) : program_(mib) {
    runtime::TrainingSessionSetup o;
    o.plugins = belay::default_plugins();
    o.checkpoint_dir = directory;
    o.checkpoint.save = mode;
    o.checkpoint.save_secs = 1e6;
    o.checkpoint.max_to_keep = 1;
    o.session.save_summaries_steps = 0;
    o.session.log_step_count_steps = 0;
    o.threads = threads;
    auto hook = std::make_unique<Asking>();
    hook_ = hook.get();
    o.hooks.push_back(runtime::own_hook("asking", std::move(hook)));
    session_.emplace(program_.graph, std::move(o));
    (*session_)->finish_save();
    for (int i = 0; i < 50; ++i) run();
  }

  void run() { (*session_)->run({program_.train}); }
  // Returns the stall of a save that begins now.
  Times begin_save() {
    hook_->ask = true;
    run();
    return {ms_since(hook_->asked_at), processor_ms() - hook_->asked_at_cpu_ms};
  }
  void finish() { (*session_)->finish_save(); }
  // Makes steps until the save is finished, or for that long.
  struct Steps {
    double ms = 0;
    int n = 0;
  };
  Steps steps_while_saving() {
    Steps steps;
    const auto start = Clock::now();
    for (; !hook_->saved; ++steps.n) run();
    steps.ms = ms_since(start);
    return steps;
  }
  Steps steps_for(double ms) {
    Steps steps;
    const auto start = Clock::now();
    for (; ms_since(start) < ms || steps.n == 0; ++steps.n) run();
    steps.ms = ms_since(start);
    return steps;
  }

 private:
  Program program_;
  Asking* hook_ = nullptr;
  std::optional<runtime::MonitoredTrainingSession> session_;
};

// Copies as many bytes as a save has.
class Copy {
 public:
  explicit Copy(std::int64_t mib)
      : from_(static_cast<std::size_t>(mib) << 20, 'a'), to_(static_cast<std::size_t>(mib) << 20, 'b') {}
  Times take() {
    const auto start = Clock::now();
    const double before = processor_ms();
    std::memcpy(to_.data(), from_.data(), to_.size());
    return {ms_since(start), processor_ms() - before};
  }

 private:
  std::vector<char> from_, to_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) return std::fprintf(stderr, "bench_background_save MIB THREADS ROUNDS DIRECTORY\n"), 2;
  const std::int64_t mib = std::atoll(argv[1]);
  const int threads = std::atoi(argv[2]), rounds = std::atoi(argv[3]);
  const std::string directory = argv[4];
  Copy copy(mib);
  copy.take();
  double alone = 0;
  {
    Bench sync(mib, threads, directory + "/sync", runtime::SaveMode::kSync);
    for (int i = 0; i < 3; ++i) {
      const double before = processor_ms();
      sync.begin_save();
      const double took = processor_ms() - before;
      alone = i == 0 ? took : std::min(alone, took);
    }
  }
  std::filesystem::remove_all(directory + "/sync");
  Bench bench(mib, threads, directory + "/async", runtime::SaveMode::kAsync);
  std::printf("copy stall copy_cpu stall_cpu step step_while_saving saving save_alone\n");
  for (int i = 0; i < rounds; ++i) {
    const Times copied = copy.take();
    const Times stall = bench.begin_save();
    const Bench::Steps during = bench.steps_while_saving();
    bench.finish();
    const Bench::Steps quiet = bench.steps_for(during.ms);
    std::printf("%.3f %.3f %.3f %.3f %.4f %.4f %.1f %.1f\n", copied.ms, stall.ms, copied.cpu_ms, stall.cpu_ms,
                quiet.ms / quiet.n, during.ms / during.n, during.ms, alone);
    std::fflush(stdout);
  }
  return 0;
}
