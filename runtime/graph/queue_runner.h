// SPDX-License-Identifier: Apache-2.0
// What fills a queue of a graph while a session runs. A graph carries its runners (NodeGraph::queue_runners);
// start_queue_runners (runtime/data/queue_runner.h) starts them all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "belay/session.h"
#include "runtime/platform/coordinator.h"

namespace belay::runtime {

class QueueRunner {
 public:
  virtual ~QueueRunner() = default;
  // The queue's full name.
  virtual const std::string& name() const = 0;
  // How many threads fill the queue at once.
  virtual std::size_t fillers() const noexcept { return 1; }
  // Threads that fill the queue in this session, started, and with a coordinator registered there. None where they run
  // already for this session. Session and coordinator should be owned by shared_ptrs: a thread that outlives the grace
  // period keeps them alive.
  virtual std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                                Coordinator* coordinator) = 0;
};

}  // namespace belay::runtime
