// SPDX-License-Identifier: Apache-2.0
// The one thread pool: OpenMP's, which oneDNN uses, too. All our loops that split work use these functions.
//
// The split depends only on n, the grain and the team's size, never on load. So results are the same bits at every run.
// All threads of a team compute in the floating-point mode of the thread that opens it. Neither the library that made
// the threads nor their earlier mode matters. For kernels the mode is KernelMode
// (runtime/platform/threads/floating_point.h).
//
// In the tsan preset the loops run on std::thread, since the thread sanitizer does not see OpenMP's runtime.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#ifdef BELAY_PARALLEL_STD_THREAD
#include <thread>
#include <vector>
#endif

namespace belay::runtime {

// Returns the number of processors that this process may use, at most OMP_THREAD_LIMIT.
int available_threads();

// Returns the reason why a team of that size is not possible; empty: it is.
std::string why_no_team(int threads);

// While it lives, the team has the size `threads` for all work that this thread starts, oneDNN included. The size is
// exact. oneDNN divides work when a primitive is made and relies on every thread. With fewer it computes nonsense or
// waits for ever. So this overrides settings for smaller teams (OMP_DYNAMIC, OMP_MAX_ACTIVE_LEVELS, or a call in a
// plugin). FAILED_PRECONDITION: that is not possible.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

 private:
  void need_exact(int threads);

  const int threads_before_;
  bool dynamic_before_ = false, closed_before_ = false;
};

// True if a loop on several threads allocates: each std::thread does.
#ifdef BELAY_PARALLEL_STD_THREAD
inline constexpr bool kLoopsAllocate = true;
#else
inline constexpr bool kLoopsAllocate = false;
#endif

// Returns the number of parts of [0, n) for a team. Each part has at least `grain` elements.
inline int parts_of(std::int64_t n, std::int64_t grain, int threads) noexcept {
  return static_cast<int>(std::clamp<std::int64_t>(n / std::max<std::int64_t>(grain, 1), 1, threads));
}

// Part i of `parts` of [0, n). Borders are multiples of 16, so that two threads share no cache line of floats.
struct Range {
  std::int64_t begin;
  std::int64_t end;
};
inline Range part_of(std::int64_t n, int parts, int i) noexcept {
  const std::int64_t step = ((n + parts - 1) / parts + 15) / 16 * 16;
  const std::int64_t begin = std::min<std::int64_t>(n, step * i);
  return {begin, i == parts - 1 ? n : std::min<std::int64_t>(n, begin + step)};
}

// Calls f(begin, end, part) for disjoint parts of [0, n), each of at least `grain` if n allows it. f must not throw.
template <class F>
void parallel_for(std::int64_t n, std::int64_t grain, int threads, F&& f) {
  const int parts = parts_of(n, grain, threads);
  if (parts == 1) {
    f(std::int64_t{0}, n, 0);
    return;
  }
#ifdef BELAY_PARALLEL_STD_THREAD
  std::vector<std::thread> team;
  for (int i = 1; i < parts; ++i)
    team.emplace_back([&, i] {
      const Range r = part_of(n, parts, i);
      f(r.begin, r.end, i);
    });
  const Range first = part_of(n, parts, 0);
  f(first.begin, first.end, 0);
  for (std::thread& t : team) t.join();
#else
#pragma omp parallel for num_threads(parts) schedule(static, 1)
  for (int i = 0; i < parts; ++i) {
    const Range r = part_of(n, parts, i);
    f(r.begin, r.end, i);
  }
#endif
}

// Does the same for items that share no cache line: rows of an image, examples of a batch, heads. Their borders are not
// rounded, so a few of them are still divided evenly.
template <class F>
void parallel_items(std::int64_t n, std::int64_t grain, int threads, F&& f) {
  const int parts = parts_of(n, grain, threads);
  parallel_for(parts * std::int64_t{16}, 16, parts,
               [&](std::int64_t, std::int64_t, int part) { f(n * part / parts, n * (part + 1) / parts, part); });
}
// Each item is worth a thread.
template <class F>
void parallel_items(std::int64_t n, int threads, F&& f) {
  parallel_items(n, 1, threads, f);
}

}  // namespace belay::runtime
