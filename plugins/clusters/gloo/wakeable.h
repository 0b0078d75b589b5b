// SPDX-License-Identifier: Apache-2.0
// Gloo's connections with waits that can be ended from another thread.
//
// Gloo has no way of its own. A connection that breaks ends the waits that it knows of, and not one that begins a moment
// later; a wait that takes longer than its limit closes all connections, so that a limit cannot be a look now and then;
// Context::closeConnections() lets waits hang for ever. Each collective waits at buffers that its context makes, and a
// buffer's wait can be ended (UnboundBuffer::abortWaitSend, abortWaitRecv), now or before it begins. So a context gets
// connections here whose buffers are known, and end() ends the waits of all of them and of those to come.
#pragma once

#include <gloo/rendezvous/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/unbound_buffer.h>

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

// A full mesh of connections, whose waits are in `waits`.
class WakeableContext final : public gloo::rendezvous::Context {
 public:
  WakeableContext(int rank, int size) : Context(rank, size) {}
  // Instead of connectFullMesh, which it calls.
  void connect(gloo::rendezvous::Store& store, std::shared_ptr<gloo::transport::Device>& device,
               const std::shared_ptr<Waits>& waits);
};

}  // namespace belay_gloo
