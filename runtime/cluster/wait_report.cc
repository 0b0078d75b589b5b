// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/wait_report.h"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <utility>

namespace belay::runtime {
namespace {

constexpr double kMostBetweenReports = 10, kReportsInWait = 4;

}  // namespace

WaitReport::WaitReport(Clock& clock, Logger& log, double max_wait_secs, std::function<std::string()> whom)
    : clock_(clock), log_(log), max_wait_secs_(max_wait_secs), whom_(std::move(whom)), thread_([this] { report(); }) {}

WaitReport::~WaitReport() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void WaitReport::report() {
  const auto between = static_cast<std::int64_t>(1e9 * std::min(kMostBetweenReports, max_wait_secs_ / kReportsInWait));
  char limit[64];
  std::snprintf(limit, sizeof(limit), " (cluster.max_wait_secs = %g)", max_wait_secs_);
  std::unique_lock lock(mutex_);
  for (std::int64_t next = clock_.monotonic_ns() + between; !done_;) {
    clock_.wait_until(lock, changed_, next);
    if (done_ || clock_.monotonic_ns() < next) continue;
    log_.info("", "still waits for " + whom_() + limit);
    next += between;
  }
}

}  // namespace belay::runtime
