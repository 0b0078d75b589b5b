// SPDX-License-Identifier: Apache-2.0
// A RankWait lives as long as a wait for other ranks. The wait counts like a call of the file system, so it is not
// taken for a hang of this process. [any thread]
#pragma once

#include <atomic>

#include "runtime/platform/files/watched_files.h"

namespace belay::runtime {

class RankWait {
 public:
  explicit RankWait(DiskCalls& waits) : waits_(waits) { waits_.begun.fetch_add(1, std::memory_order_relaxed); }
  ~RankWait() { waits_.ended.fetch_add(1, std::memory_order_relaxed); }
  RankWait(const RankWait&) = delete;
  RankWait& operator=(const RankWait&) = delete;

 private:
  DiskCalls& waits_;
};

}  // namespace belay::runtime
