// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/parallel.h"

#include <fmt/core.h>

#include <dlfcn.h>
#include <omp.h>
#include <sched.h>

#include "belay/error.h"
#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {
namespace {

// A region of a team, in the form in which the compiler passes it to OpenMP's runtime.
struct Region {
  void (*body)(void*);
  void* data;
  std::uint32_t mode;
};

void run_in_mode(void* argument) {
  const Region& region = *static_cast<const Region*>(argument);
  const std::uint32_t before = vector_control();
  const bool other = !vector_mode_is(region.mode);
  if (other) set_vector_control(region.mode);
  region.body(region.data);
  if (other) set_vector_control(before);
}

}  // namespace

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::clamp(CPU_COUNT(&set), 1, std::max(1, omp_get_thread_limit()));
}

std::string why_no_team(int threads) {
  const int limit = omp_get_thread_limit();
  if (threads <= limit) return "";
  return fmt::format("OMP_THREAD_LIMIT in the environment allows {}{}, not {}", limit,
                     limit == 1 ? " thread" : " threads", threads);
}

Team::Team(int threads) : threads_before_(omp_get_max_threads()) {
#ifdef BELAY_PARALLEL_STD_THREAD
  threads = 1;  // OpenMP's; only oneDNN uses it then
#endif
  if (threads > 1) need_exact(threads);
  if (threads_before_ != threads) omp_set_num_threads(threads);
}

void Team::need_exact(int threads) {
  if (omp_in_parallel() != 0)
    fail(Code::kFailedPrecondition,
         fmt::format("a run with {} threads was started inside an OpenMP region of the program, in which all teams "
                     "have one thread; start it outside, or give the session threads = 1",
                     threads));
  const std::string reason = why_no_team(threads);
  if (!reason.empty()) fail(Code::kFailedPrecondition, reason);
  dynamic_before_ = omp_get_dynamic() != 0;
  if (dynamic_before_) omp_set_dynamic(0);
  closed_before_ = omp_get_max_active_levels() < 1;
  if (closed_before_) omp_set_max_active_levels(1);
}

Team::~Team() {
  if (omp_get_max_threads() != threads_before_) omp_set_num_threads(threads_before_);
  if (dynamic_before_) omp_set_dynamic(1);
  if (closed_before_) omp_set_max_active_levels(0);
}

}  // namespace belay::runtime

// Compilers call this function for `omp parallel`, in our code and in oneDNN's. It replaces libgomp's function. OpenMP
// does not define the floating-point mode of a team's threads. They have the mode of the thread that made them.
extern "C" __attribute__((visibility("default"))) void GOMP_parallel(void (*body)(void*), void* data, unsigned threads,
                                                                     unsigned flags) {
  using Parallel = void (*)(void (*)(void*), void*, unsigned, unsigned);
  static const auto libgomps = reinterpret_cast<Parallel>(::dlsym(RTLD_NEXT, "GOMP_parallel"));
  belay::runtime::Region region{body, data, belay::runtime::vector_control()};
  libgomps(belay::runtime::run_in_mode, &region, threads, flags);
}
