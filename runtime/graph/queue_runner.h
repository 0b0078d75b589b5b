// SPDX-License-Identifier: Apache-2.0
// Fills a queue of a graph while a session runs. A graph keeps its runners (NodeGraph::queue_runners).
// start_queue_runners (runtime/data/queue_runner.h) starts them all.
#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "belay/session.h"
#include "runtime/platform/threads/coordinator.h"

namespace belay::runtime {

class QueueFiller {
 public:
  virtual ~QueueFiller() = default;
  // Returns the queue's full name.
  virtual const std::string& name() const = 0;
  // Returns the number of threads that fill the queue at once.
  virtual std::size_t fillers() const noexcept { return 1; }
  // Starts the threads that fill the queue in this session, and registers them with a coordinator. Empty: they already
  // run for this session. shared_ptrs should own session and coordinator, since a thread that outlives the grace period
  // keeps them alive.
  virtual std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session& session,
                                                                Coordinator* coordinator) = 0;
};

}  // namespace belay::runtime
