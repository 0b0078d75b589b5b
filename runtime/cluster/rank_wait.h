// SPDX-License-Identifier: Apache-2.0
// Round a wait for other ranks: counted as a call of the file system is, so that it is no hang of this process. [any
// thread]
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
