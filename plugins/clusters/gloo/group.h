// SPDX-License-Identifier: Apache-2.0
// Some of the ranks, as Gloo connects them: its collectives, with its exceptions.
#pragma once

#include <belay/cluster.h>
#include <gloo/rendezvous/store.h>
#include <gloo/transport/device.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <string>

#include "wakeable.h"

namespace belay_gloo {

// A group of one has no connections, and each call returns at once. Calls from any thread; those of different tags may
// be under way at the same time.
class Group {
 public:
  // Meets the others of the group in `store`, whose keys are this group's alone.
  Group(int rank, int size, std::string name, gloo::rendezvous::Store* store,
        std::shared_ptr<gloo::transport::Device>& device, std::chrono::nanoseconds wait);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }
  // The same on all ranks of the group, and no other group's.
  const std::string& name() const noexcept { return name_; }
  // How many splits of it there were.
  int next_split() noexcept { return splits_++; }

  void barrier(const belay::Collective& call);
  void broadcast(const belay::Collective& call, const belay::TensorView& tensor);
  void all_reduce(const belay::Collective& call, const belay::TensorView& tensor);
  void all_gather(const belay::Collective& call, const void* mine, std::size_t bytes, void* all);
  void send(const belay::Collective& call, const belay::TensorView& tensor);
  void receive(const belay::Collective& call, const belay::TensorView& tensor);

  // Ends all calls that are under way, with an exception of Gloo's, and all later ones. Does not wait. Any thread.
  void end_calls() noexcept { waits_->end(); }

 private:
  template <class T>
  void sum(const belay::Collective& call, T* values, std::size_t n,
           void (*add)(void*, const void*, const void*, std::size_t));

  const int rank_, size_;
  const std::string name_;
  std::atomic<int> splits_{0};
  const std::shared_ptr<Waits> waits_ = std::make_shared<Waits>();
  std::shared_ptr<WakeableContext> context_;  // null: a group of one
};

}  // namespace belay_gloo
