// SPDX-License-Identifier: Apache-2.0
// How bench/models.py talks to a program that repeats one step: each line on stdin is the seconds that a round should
// take; the answer is a line of JSON. So rounds of several programs take turns, while each keeps what it has warmed up.
//
// Standard headers only: the peers link nothing of Belay.
#pragma once

#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <iostream>
#include <vector>

namespace rounds {

inline double microseconds(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) * 1e6 + static_cast<double>(t.tv_nsec) * 1e-3;
}

inline double median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Microseconds per step, elapsed and of CPU time of the whole process: medians of about twenty blocks.
template <class Step>
void round(Step& step, double seconds, int steps_per_block) {
  std::vector<double> elapsed, cpu;
  const double end = microseconds(CLOCK_MONOTONIC) + seconds * 1e6;
  do {
    const double start = microseconds(CLOCK_MONOTONIC), cpu_start = microseconds(CLOCK_PROCESS_CPUTIME_ID);
    for (int i = 0; i < steps_per_block; ++i) step();
    elapsed.push_back((microseconds(CLOCK_MONOTONIC) - start) / steps_per_block);
    cpu.push_back((microseconds(CLOCK_PROCESS_CPUTIME_ID) - cpu_start) / steps_per_block);
  } while (microseconds(CLOCK_MONOTONIC) < end);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("{\"us\": %.3f, \"cpu_us\": %.3f, \"max_rss_mib\": %.1f}\n", median(elapsed), median(cpu),
              static_cast<double>(usage.ru_maxrss) / 1024);
  std::fflush(stdout);
}

// Answers until stdin ends.
template <class Step>
void answer(Step step) {
  for (int i = 0; i < 5; ++i) step();
  for (double seconds; std::cin >> seconds;) {
    const double start = microseconds(CLOCK_MONOTONIC);
    step();
    const double one = std::max(microseconds(CLOCK_MONOTONIC) - start, 0.1);
    round(step, seconds, static_cast<int>(std::clamp(seconds * 1e6 / 20 / one, 1.0, 1e6)));
  }
}

}  // namespace rounds
