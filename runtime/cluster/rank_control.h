// SPDX-License-Identifier: Apache-2.0
// The ranks of a run stop it and are stopped by these. All of it is borrowed.
#pragma once

#include <functional>
#include <string>

#include "runtime/loader/instance/instance.h"
#include "runtime/platform/files/watched_files.h"
#include "runtime/platform/threads/cancellation.h"

namespace belay::runtime {

struct RankControl {
  std::function<bool()> stopping;                    // whether the run is to end
  std::function<void(const std::string& why)> stop;  // makes it end: another rank has
  // The loss of some ranks, and not of all, is not finite: once a session, with their names.
  std::function<void(const std::string& whose)> warn;
  CancellationSource& wakes;  // ends the wait for this rank's own input
  DiskCalls& waits;           // counts waits for other ranks: they are no hang of this one
  CallMonitor& monitor;       // to which the cluster's instance reports, and nothing else: two threads call it
};

}  // namespace belay::runtime
