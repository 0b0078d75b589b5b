// SPDX-License-Identifier: Apache-2.0
// Gloo's connections with waits that can be ended from another thread.
//
// Gloo has no way of its own. A connection that breaks ends the waits that it knows of, and not one that begins a
// moment later; a wait that takes longer than its limit closes all connections, so that a limit cannot be a look now
// and then; Context::closeConnections() lets waits hang for ever. Each collective waits at buffers that its context
// makes, and a buffer's wait can be ended (UnboundBuffer::abortWaitSend, abortWaitRecv), now or before it begins. So a
// context gets connections here whose buffers are known, and end() ends the waits of all of them and of those to come.
//
// A group of some of the ranks uses the connections of all: it makes none, so that there is no wait for that.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

namespace belay_gloo {

// The buffers that are there. Any thread.
class Waits {
 public:
  // gloo::IoException behind end().
  void add(gloo::transport::UnboundBuffer& buffer);
  void remove(gloo::transport::UnboundBuffer& buffer) noexcept;
  // Does not wait. Again: nothing.
  void end() noexcept;

 private:
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<gloo::transport::UnboundBuffer*> buffers_;
};

// Connections among ranks, whose waits are in `waits`.
class WakeableContext final : public gloo::rendezvous::Context {
 public:
  // One to each other rank. Both that meet wait for each other, as long as `limit`.
  WakeableContext(int own_rank, int ranks, gloo::rendezvous::Store& store,
                  std::shared_ptr<gloo::transport::Device>& device, std::chrono::milliseconds limit,
                  const std::shared_ptr<Waits>& waits);
  // Those of `all` to some of its ranks, in this order; own_rank is a place in it.
  WakeableContext(int own_rank, const std::vector<int>& ranks, const WakeableContext& all,
                  const std::shared_ptr<Waits>& waits);

 private:
  std::shared_ptr<gloo::transport::Context> connections_;  // Gloo's own, of all ranks
};

}  // namespace belay_gloo
