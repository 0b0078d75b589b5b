// SPDX-License-Identifier: Apache-2.0
// A group of ranks that Gloo connects. Its collectives throw Gloo's exceptions.
#pragma once

#include <belay/cluster.h>
#include <gloo/transport/device.h>

#include <memory>
#include <vector>

#include "wakeable.h"

namespace belay_gloo {

// A group of one has no connections, and each call returns at once. Call it from any thread. Calls with different tags
// may run at the same time.
class Group {
 public:
  // Makes the group of this process alone.
  Group() : rank_(0), ranks_{0}, waits_(std::make_shared<Waits>()) {}
  // Makes the group of all ranks. Ending its `waits` ends the calls of all groups that use these connections, now or
  // later.
  Group(int rank, int size, const Meeting& meeting, const std::shared_ptr<gloo::transport::Device>& device,
        std::shared_ptr<Waits> waits);
  // Makes the group of these ranks of `all`, which are in order. Any two ranks share at most one group with this
  // `number`.
  Group(int rank, std::vector<int> ranks, int number, const Group& all);

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return static_cast<int>(ranks_.size()); }
  // The ranks' numbers among all ranks.
  const std::vector<int>& ranks() const noexcept { return ranks_; }

  void barrier(const belay::Collective& call);
  void broadcast(const belay::Collective& call, const belay::TensorView& tensor);
  void all_reduce(const belay::Collective& call, const belay::TensorView& tensor);
  void all_gather(const belay::Collective& call, const void* mine, std::size_t bytes, void* all);
  void send(const belay::Collective& call, const belay::TensorView& tensor);
  void receive(const belay::Collective& call, const belay::TensorView& tensor);

 private:
  template <class T>
  void sum(const belay::Collective& call, T* values, std::size_t n,
           void (*add)(void*, const void*, const void*, std::size_t));

  std::uint32_t tag_of(const belay::Collective& call) const noexcept {
    return static_cast<std::uint32_t>(number_) * BELAY_CLUSTER_TAGS + call.tag();
  }

  const int rank_;
  const std::vector<int> ranks_;
  const int number_ = 0;
  const std::shared_ptr<Waits> waits_;        // shared by all groups
  std::shared_ptr<WakeableContext> context_;  // null: a group of one
};

}  // namespace belay_gloo
