// SPDX-License-Identifier: Apache-2.0
// Refuses to stop before a step ([run] min_steps). It refuses only requests of hooks.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <set>
#include <string>

#include "runtime/platform/log/logger.h"
#include "runtime/session/direct_session.h"

namespace belay::runtime {

class StopRefusal {
 public:
  // Borrows the log.
  StopRefusal(std::int64_t min_steps, std::weak_ptr<const DirectSession> session, Logger& log)
      : min_steps_(min_steps), session_(std::move(session)), log_(log) {}

  // Returns true if this request is refused. The first one of each hook is a line in the log. `who` is its name, empty
  // if unknown. A hook that still wants to stop asks again. [any thread]
  bool refuses(const std::string& who, const std::string& reason);

 private:
  const std::int64_t min_steps_;
  const std::weak_ptr<const DirectSession> session_;
  Logger& log_;
  std::mutex mutex_;
  std::set<std::string> said_;
};

}  // namespace belay::runtime
