// SPDX-License-Identifier: Apache-2.0
// RankControl connects the ranks with the run: each side can stop the other. All of it is borrowed.
#pragma once

#include <functional>
#include <string>

#include "runtime/loader/instance/instance.h"
#include "runtime/platform/files/watched_files.h"
#include "runtime/platform/threads/cancellation.h"

namespace belay::runtime {

struct RankControl {
  std::function<bool()> stopping;                    // whether the run is to end
  std::function<void(const std::string& why)> stop;  // makes it end, because another rank has ended it
  // Called once a session if the loss of some ranks, but not of all, is not finite. `whose` names them.
  std::function<void(const std::string& whose)> warn;
  CancellationSource& wakes;  // ends the wait for this rank's own input
  DiskCalls& waits;           // counts waits for other ranks; they are no hang of this one
  CallMonitor& monitor;       // only the cluster's instance reports to it, because two threads call that instance
};

}  // namespace belay::runtime
