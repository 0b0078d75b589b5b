// SPDX-License-Identifier: Apache-2.0
// Gloo's connections, with waits that another thread can end.
//
// Gloo cannot do this alone. A broken connection ends the waits so far, but not one that begins a moment later. A wait
// above its limit closes all connections, so a limit cannot serve for a look now and then. After
// Context::closeConnections() some waits hang for ever. But each collective waits at buffers that its context makes.
// UnboundBuffer::abortWaitSend and abortWaitRecv end a buffer's wait, now or before it begins. So a context here gets
// connections that register their buffers. end() ends the waits of all these buffers and of later ones.
//
// The same holds while the connections are made. The listening side waits five times the limit for the other one, even
// if that was killed before it called. It returns when its pair is closed (Pair::close).
//
// A group of some ranks uses the connections of all. It makes no new ones and so never waits for them.
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

// The existing buffers, and the pair that connects. Call it from any thread.
class Waits {
 public:
  // Throws gloo::IoException after end().
  void add(gloo::transport::UnboundBuffer& buffer);
  void remove(gloo::transport::UnboundBuffer& buffer) noexcept;
  // Throws gloo::IoException after end(), or if end() is called meanwhile. Connect one pair at a time.
  void connect(gloo::transport::Pair& pair, const std::vector<char>& address);
  // Does not wait. A second call does nothing.
  void end() noexcept;

 private:
  std::mutex mutex_;
  bool ended_ = false;
  std::vector<gloo::transport::UnboundBuffer*> buffers_;
  gloo::transport::Pair* connecting_ = nullptr;
};

// The board with the addresses of the ranks' connections, and the limits of a meeting.
struct Meeting {
  Board& board;
  std::function<void()> check;      // throws if waiting for another rank makes no sense any more
  std::chrono::milliseconds limit;  // limit of the wait for a rank's addresses, and for its call
};

// Connections among ranks. `waits` knows all their waits.
class WakeableContext final : public gloo::Context {
 public:
  // Makes a connection to each other rank. All ranks call it.
  WakeableContext(int own_rank, int ranks, const Meeting& meeting,
                  const std::shared_ptr<gloo::transport::Device>& device, const std::shared_ptr<Waits>& waits);
  // Uses the connections of `all` to these ranks, in this order. own_rank is this rank's index in `ranks`.
  WakeableContext(int own_rank, const std::vector<int>& ranks, const WakeableContext& all,
                  const std::shared_ptr<Waits>& waits);

 private:
  void connect(const Meeting& meeting, Waits& waits);

  std::shared_ptr<gloo::transport::Context> connections_;  // Gloo's connections to all ranks
};

}  // namespace belay_gloo
