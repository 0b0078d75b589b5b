// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/stop_refusal.h"

#include <fmt/core.h>

#include <algorithm>

namespace belay::runtime {

bool StopRefusal::refuses(const std::string& who, const std::string& reason) {
  if (min_steps_ == 0) return false;
  const std::shared_ptr<const DirectSession> session = session_.lock();
  if (session == nullptr) return false;
  const std::int64_t step = std::max<std::int64_t>(session->global_step(), 0);
  if (step >= min_steps_) return false;
  const std::lock_guard lock(mutex_);
  if (said_.insert(who).second)
    log_.info("",
              fmt::format("not stopped at step {}, before step {} ([run] min_steps): {}", step, min_steps_, reason));
  return true;
}

}  // namespace belay::runtime
