// SPDX-License-Identifier: Apache-2.0
// The team of threads: as large as it must be, and in the kernels' floating-point mode, whatever was done to it before.
#include "runtime/ops/kernels/parallel.h"

#include <omp.h>

#include <atomic>
#include <set>

#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "runtime/platform/threads/floating_point.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr std::uint32_t kUpward = 0x5f80;  // round up, no traps, denormals kept
constexpr float kDenormal = 1e-40f;

class TeamTest : public SessionTest {
 protected:
  void SetUp() override {
    if (kLoopsAllocate) GTEST_SKIP() << "SKIPPED: loops of this build do not run on OpenMP's team";
  }
  // Threads that a loop of OpenMP really gets, asked as oneDNN asks.
  static int real_size() {
    std::atomic<int> size{0};
#pragma omp parallel
    ++size;
    return size;
  }
  // The modes that the threads of the pool are in.
  static std::set<std::uint32_t> modes_of_pool(int threads) {
    std::vector<std::uint32_t> modes(static_cast<std::size_t>(threads));
#pragma omp parallel num_threads(threads)
    modes[static_cast<std::size_t>(omp_get_thread_num())] = vector_control() & kVectorModeBits;
    return {modes.begin(), modes.end()};
  }
  // All elements, computed by a team of two.
  std::vector<float> on_two_threads(const Output& output) {
    FetchSet fetches({output});
    RunRequest request;
    request.fetches = &fetches;
    request.full_team = true;
    const runtime::Run done = session().run(request);
    const TensorView result(done.result(fetches, 0));
    return {result.data<const float>(), result.data<const float>() + result.size()};
  }
  void open_on_two_threads() {
    DirectSessionOptions options;
    options.threads = 2;
    open(std::move(options));
  }
};

TEST_F(TeamTest, T_50a_IsExactWhateverTheSettingsOfTheThreadAre) {
  const struct {
    const char* what;
    void (*set)();
  } cases[] = {{"dynamic", [] { omp_set_dynamic(1); }},
               {"no levels", [] { omp_set_max_active_levels(0); }},
               {"one thread", [] { omp_set_num_threads(1); }},
               {"three threads", [] { omp_set_num_threads(3); }}};
  for (const auto& c : cases) {
    const int threads = omp_get_max_threads(), dynamic = omp_get_dynamic(), levels = omp_get_max_active_levels();
    c.set();
    const int threads_set = omp_get_max_threads(), dynamic_set = omp_get_dynamic(),
              levels_set = omp_get_max_active_levels();
    {
      const Team team(2);
      EXPECT_EQ(real_size(), 2) << c.what;
    }
    EXPECT_EQ(omp_get_max_threads(), threads_set) << c.what;
    EXPECT_EQ(omp_get_dynamic(), dynamic_set) << c.what;
    EXPECT_EQ(omp_get_max_active_levels(), levels_set) << c.what;
    omp_set_num_threads(threads);
    omp_set_dynamic(dynamic);
    omp_set_max_active_levels(levels);
  }
}

TEST_F(TeamTest, T_50a_IsRefusedInsideARegionOfTheProgram) {
  std::string error;
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 0) error = error_of([] { const Team team(2); });
  EXPECT_EQ(error,
            "FAILED_PRECONDITION: a run with 2 threads was started inside an OpenMP region of the program, in which "
            "all teams have one thread; start it outside, or give the session threads = 1");
}

TEST_F(TeamTest, T_41a_ComputesInTheModeOfWhoOpensIt) {
  const std::uint32_t own = vector_control();
  EXPECT_EQ(modes_of_pool(2).size(), 1u);  // the pool is made here
  {
    const KernelMode mode;
    std::atomic<int> flushing{0};
    parallel_for(1 << 10, 1, 2, [&](std::int64_t, std::int64_t, int) {
      if (vector_mode_is(kKernelMode)) ++flushing;
    });
    EXPECT_EQ(flushing, 2);
  }
  EXPECT_EQ(vector_control() & kVectorModeBits, own & kVectorModeBits);
  EXPECT_EQ(modes_of_pool(2), std::set<std::uint32_t>{own & kVectorModeBits});
}

TEST_F(TeamTest, T_41a_ComputesInThatModeThoughAPluginLeftItsThreadsInAnother) {
#pragma omp parallel num_threads(2)
  if (omp_get_thread_num() == 1) set_vector_control(kUpward);
  const KernelMode mode;
  EXPECT_EQ(modes_of_pool(2), std::set<std::uint32_t>{kKernelMode & kVectorModeBits});
}

// The engine's loops and oneDNN's products alike.
TEST_F(TeamTest, T_41a_KernelsFlushDenormalsInEachThread) {
  constexpr std::int64_t kRows = 512, kInner = 64;
  std::vector<float> one(kInner * kInner);
  for (std::int64_t i = 0; i < kInner; ++i) one[static_cast<std::size_t>(i * kInner + i)] = 1;
  const Output x = ops::variable(
      g, "x", Tensor({kRows, kInner}, std::vector<float>(static_cast<std::size_t>(kRows * kInner), kDenormal)));
  const Output identity = ops::variable(g, "identity", Tensor({kInner, kInner}, one));
  const Output product = ops::matmul(x, identity), scaled = x * 1.5;
  EXPECT_EQ(modes_of_pool(2).size(), 1u);
  open_on_two_threads();
  initialize();
  const std::uint32_t own = vector_control();
  for (const Output& result : {product, scaled})
    EXPECT_EQ(on_two_threads(result), std::vector<float>(static_cast<std::size_t>(kRows * kInner), 0.0f));
  EXPECT_EQ(vector_control() & kVectorModeBits, own & kVectorModeBits);
}

TEST_F(TeamTest, T_41a_KernelsRoundToNearestWhateverTheCallersModeIs) {
  const Output x = ops::variable(g, "x", Tensor(1.0f)), tiny = ops::variable(g, "tiny", Tensor(1e-10f));
  const Output sum = x + tiny;
  open_on_two_threads();
  initialize();
  const std::uint32_t own = vector_control();
  set_vector_control(kUpward);
  const std::vector<float> found = on_two_threads(sum);
  const bool kept = vector_mode_is(kUpward);
  set_vector_control(own);
  EXPECT_EQ(found, std::vector<float>{1.0f});
  EXPECT_TRUE(kept);
}

}  // namespace
}  // namespace belay::runtime::testing
