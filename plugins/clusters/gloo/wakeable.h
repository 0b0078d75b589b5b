// SPDX-License-Identifier: Apache-2.0
// Gloo's connections with waits that can be ended from another thread.
//
// Gloo has no way of its own. A connection that breaks ends the waits that it knows of, and not one that begins a
// moment later; a wait that takes longer than its limit closes all connections, so that a limit cannot be a look now
// and then; Context::closeConnections() lets waits hang for ever. Each collective waits at buffers that its context
// makes, and a buffer's wait can be ended (UnboundBuffer::abortWaitSend, abortWaitRecv), now or before it begins. So a
// context gets connections here whose buffers are known, and end() ends the waits of all of them and of those to come.
// The same holds while they are made: the side of a connection that listens waits for the other one, which may have
// been killed before it called, for five times the limit, and returns when its pair is closed (Pair::close).
//
// A group of some of the ranks uses the connections of all: it makes none, so that there is no wait for that.
#pragma once

#include <gloo/context.h>
#include <gloo/transport/context.h>
#include <gloo/transport/device.h>
#include <gloo/transport/unbound_buffer.h>

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "board.h"

namespace belay_gloo {

// The buffers that are there, and the pair that connects. Any thread.
class Waits {
 public:
  // gloo::IoException behind end().
  void add(gloo::transport::UnboundBuffer& buffer);
  void remove(gloo::transport::UnboundBuffer& buffer) noexcept;
  // gloo::IoException behind end(), and where it is called meanwhile. One at a time.
  void connect(gloo::transport::Pair& pair, const std::vector<char>& address);
  // Does not wait. Again: nothing.
  void end() noexcept;

 private:
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<gloo::transport::UnboundBuffer*> buffers_;
  gloo::transport::Pair* connecting_ = nullptr;
};

// Where the ranks of a meeting leave the addresses of their connections.
struct Meeting {
  Board& board;
  std::function<void()> check;      // throws where waiting for another rank is of no use
  std::chrono::milliseconds limit;  // how long a rank's addresses, and its call, are waited for
};

// Connections among ranks, whose waits are in `waits`.
class WakeableContext final : public gloo::Context {
 public:
  // One to each other rank, which does the same.
  WakeableContext(int own_rank, int ranks, const Meeting& meeting,
                  const std::shared_ptr<gloo::transport::Device>& device, const std::shared_ptr<Waits>& waits);
  // Those of `all` to some of its ranks, in this order; own_rank is a place in it.
  WakeableContext(int own_rank, const std::vector<int>& ranks, const WakeableContext& all,
                  const std::shared_ptr<Waits>& waits);

 private:
  void connect(const Meeting& meeting, Waits& waits);

  std::shared_ptr<gloo::transport::Context> connections_;  // Gloo's own, of all ranks
};

}  // namespace belay_gloo
