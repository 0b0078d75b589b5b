// SPDX-License-Identifier: Apache-2.0
// The cost of a step once everything is warm: no allocation, no plan. It is a separate program, because it replaces
// operator new.
#include <gtest/gtest.h>
#include <link.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/plugin.h"
#include "belay/testing/allocations.h"
#include "plugins/default_plugins.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/linked_run.h"

namespace {

// Where oneDNN's code lies: every execution of one of its primitives allocates, which is not ours to change.
class OnednnCode {
 public:
  OnednnCode() { dl_iterate_phdr(visit, this); }
  bool holds(const void* address) const {
    const auto a = reinterpret_cast<std::uintptr_t>(address);
    return a >= begin_ && a < end_;
  }
  bool found() const { return end_ != 0; }

 private:
  static int visit(dl_phdr_info* library, std::size_t, void* self) {
    if (std::strstr(library->dlpi_name, "/libdnnl.so") == nullptr) return 0;
    auto& code = *static_cast<OnednnCode*>(self);
    for (int i = 0; i < library->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = library->dlpi_phdr[i];
      if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
      code.begin_ = library->dlpi_addr + segment.p_vaddr;
      code.end_ = code.begin_ + segment.p_memsz;
    }
    return 1;
  }
  std::uintptr_t begin_ = 0;
  std::uintptr_t end_ = 0;
};

const OnednnCode& onednn_code() {
  static const OnednnCode code;
  return code;
}

// Counted apart from the program's own, to show that they are told apart.
std::uint64_t& onednn_allocations() {
  static thread_local std::uint64_t count = 0;
  return count;
}

void* allocate(std::size_t size, std::size_t alignment, const void* caller) {
  void* p = belay::testing::counted_allocation(size, alignment);
  if (onednn_code().holds(caller)) {
    --belay::testing::allocation_count();
    ++onednn_allocations();
  }
  return p;
}

}  // namespace

// As BELAY_COUNT_ALLOCATIONS, but for who asks.
BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size) { return allocate(size, 1, __builtin_return_address(0)); }
BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size, std::align_val_t alignment) {
  return allocate(size, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
BELAY_ALLOCATION_FUNCTION* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return allocate(size, 1, __builtin_return_address(0));
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
BELAY_ALLOCATION_FUNCTION operator delete(void* p) noexcept { std::free(p); }
BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::size_t) noexcept { std::free(p); }
BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::align_val_t) noexcept { std::free(p); }
BELAY_ALLOCATION_FUNCTION operator delete(void* p, std::size_t, std::align_val_t) noexcept { std::free(p); }

extern "C" {
extern const belay_module belay_module_digits;
extern const belay_module belay_module_mlp;
}

namespace belay::runtime::testing {
namespace {

using belay::testing::allocations;

constexpr int kWarmSteps = 300;
constexpr int kSteps = 1000;

std::vector<const belay_module*> modules() {
  std::vector<const belay_module*> all = default_plugins();
  all.insert(all.end(), {&belay_module_digits, &belay_module_mlp});
  return all;
}

// The seven default hooks and another one. stop_at_step and nan_tensor look at every step, progress waits for a tenth
// of max_steps, and the others have different periods.
constexpr char kManifest[] = R"(
max_steps = 1000000000
[model]
plugin = "mlp"
hidden = [256]
[session]
log_step_count_steps = 70
save_summaries_steps = 110
[checkpoint]
save_steps = 250
[[hooks]]
plugin = "logging_tensor"
tensors = ["loss"]
every_n_iter = 90
[[hooks]]
plugin = "json_lines"
every_n_steps = 130
[[hooks]]
plugin = "progress"
max_steps = 1000000000
every_secs = 1000000
[optimizer]
name = "adam"
)";

// A step of 100 examples, in so many batches.
std::string steady_manifest(int accumulate) {
  return "[run]" + std::string(kLoopsAllocate || accumulate > 1 ? "\nthreads = 1" : "") + kManifest +
         "accumulate = " + std::to_string(accumulate) +
         "\n[input.train]\nplugin = \"digits\"\nsplit = \"train\"\nexamples = 1000\nbatch_size = " +
         std::to_string(100 / accumulate) + "\n";
}

// Allocations of the session's thread so far: when the first hook is called, when the last one is, before and after a
// run.
struct Marks {
  std::uint64_t first_before = 0, last_before = 0, first_after = 0, last_after = 0;
};

class Mark final : public Hook {
 public:
  Mark(std::uint64_t& before, std::uint64_t& after) : before_(before), after_(after) {}
  RunArgs before_run(RunContext&) override {
    before_ = allocations();
    return {};
  }
  void after_run(RunContext&, const RunValues&) override { after_ = allocations(); }

 private:
  std::uint64_t& before_;
  std::uint64_t& after_;
};

// The first of each period but the checkpoints', whose first is of step 0.
bool a_hook_fires(std::int64_t step) {
  return step % 70 == 1 || step % 110 == 1 || step % 90 == 1 || step % 130 == 0 || step % 250 == 0;
}

class SteadyState : public ::testing::Test {
 protected:
  explicit SteadyState(int accumulate = 1) : run_(steady_manifest(accumulate), modules()) {
    run_.add_hook("first", std::make_unique<Mark>(marks_.first_before, marks_.first_after));
    run_.add_hooks_of_manifest();
    run_.add_hook("last", std::make_unique<Mark>(marks_.last_before, marks_.last_after));
  }

  void expect_steady();

  Marks marks_;
  LinkedRun run_;
};

// Counted is what the thread of the session allocates with operator new, plugins included and oneDNN excluded. Not
// counted are the other threads: the input's, which draws the batches, and OpenMP's team.
void SteadyState::expect_steady() {
  ASSERT_TRUE(onednn_code().found());
  MonitoredSession& session = run_.start();
  session.scope([&] {
    for (int i = 0; i < kWarmSteps; ++i) session.run(run_.train_call());
    const PlanStats before = session.raw_session()->plan_stats();
    int fired = 0;
    for (int i = 0; i < kSteps; ++i) {
      const std::uint64_t start = allocations();
      session.run(run_.train_call());
      const std::uint64_t end = allocations();
      const std::int64_t step = session.raw_session()->global_step();
      // The engine's part of every step: around the hooks and between them. A checkpoint is written after the last
      // hook.
      EXPECT_EQ(marks_.first_before - start, 0u) << "before the hooks of step " << step;
      EXPECT_EQ(marks_.first_after - marks_.last_before, 0u) << "in the run of step " << step;
      if (step % 250 != 0) {
        EXPECT_EQ(end - marks_.last_after, 0u) << "behind the hooks of step " << step;
      }
      // The hooks' own part, wherever none has something to write.
      if (a_hook_fires(step)) {
        ++fired;
      } else {
        EXPECT_EQ(end - start, 0u) << "step " << step;
      }
    }
    EXPECT_GT(fired, 30);
    EXPECT_GT(onednn_allocations(), 0u);
    EXPECT_EQ(session.raw_session()->global_step(), kWarmSteps + kSteps);
    const PlanStats after = session.raw_session()->plan_stats();
    EXPECT_EQ(after.plans_built, before.plans_built);
    EXPECT_EQ(after.programs_built, before.programs_built);
  });
}

TEST_F(SteadyState, AThousandMonitoredStepsAllocateNothingAndBuildNoPlan) { expect_steady(); }

class SteadyStateOfSeveralBatches : public SteadyState {
 protected:
  SteadyStateOfSeveralBatches() : SteadyState(4) {}
};

TEST_F(SteadyStateOfSeveralBatches, AThousandMonitoredStepsAllocateNothingAndBuildNoPlan) { expect_steady(); }

// A step with a sparse gradient: the number of different ids changes, but no shape does.
TEST(SteadyStateOfASparseGradient, T_173_StepsOfOtherIdsAllocateNothingAndBuildNoPlan) {
  const std::unique_ptr<OpRegistry> ops = make_op_registry();
  NodeGraph graph(*ops);
  const belay::Graph g = graph.handle();
  const Output ids = ops::placeholder(g, DType::kInt64, {-1}, "ids");
  const Output loss = ops::reduce_sum(ops::square(ops::embedding(ids, 5000, 32)));
  OptimizerSettings settings;
  settings.name = "adagrad";
  settings.clip_norm = 1;
  const Output train = minimize(g, loss, LinkedOptimizer(settings, default_plugins()).use());
  graph.finalize();
  DirectSessionOptions options;
  options.threads = kLoopsAllocate ? 1 : 2;
  DirectSession session(graph, std::make_shared<VariableStore>(), options);
  session.run_once(graph.collection("variable_init"));
  FetchSet fetches(std::vector<FetchRef>{train});
  Tensor batch(DType::kInt64, {1024});
  const belay_feed feed{ids.raw(), batch.view()};
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = {&feed, 1};
  request.full_team = true;
  const auto step = [&](std::size_t number) {
    for (std::size_t i = 0; i < batch.size(); ++i)
      batch.data<std::int64_t>()[i] = static_cast<std::int64_t>(i * i * number % (number * 16 + 1));
    session.run(request);
  };
  for (std::size_t i = 1; i < 20; ++i) step(i);
  const PlanStats before = session.plan_stats();
  const std::uint64_t start = allocations();
  for (std::size_t i = 1; i < 200; ++i) step(i);
  EXPECT_EQ(allocations() - start, 0u);
  EXPECT_EQ(session.plan_stats().programs_built, before.programs_built);
  EXPECT_EQ(session.plan_stats().plans_built, before.plans_built);
}

TEST_F(SteadyState, TheArenaOfATrainingStepIsNearItsLowerBound) {
  MonitoredSession& session = run_.start();
  session.scope([&] {
    for (int i = 0; i < 5; ++i) session.run(run_.train_call());
    const PlanStats stats = session.raw_session()->plan_stats();
    // One batch of 100 through 256 hidden units is 100 KiB at the least.
    EXPECT_GT(stats.arena_bound, 100u * 256 * sizeof(float));
    EXPECT_LE(static_cast<double>(stats.arena_bytes), 1.2 * static_cast<double>(stats.arena_bound));
  });
}

}  // namespace
}  // namespace belay::runtime::testing
