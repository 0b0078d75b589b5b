// SPDX-License-Identifier: Apache-2.0
#include "wakeable.h"

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <string>
#include <thread>
#include <utility>

#include <gloo/common/error.h>
#include <gloo/transport/address.h>

namespace belay_gloo {
namespace {

using gloo::transport::UnboundBuffer;

constexpr int kLimitsOfAConnection = 5;  // the number of limits that Gloo waits while it connects

[[noreturn]] void fail_ended() { throw gloo::IoException("the calls of this group were ended"); }

std::string connections_of(int rank) { return "gloo-" + std::to_string(rank); }

// Waits for the addresses that the rank leaves on the board.
std::string wait_for(const Meeting& meeting, int rank) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto end = std::chrono::steady_clock::now() + meeting.limit;
  for (;; std::this_thread::sleep_for(kPause)) {
    std::string addresses = meeting.board.get(connections_of(rank));
    if (!addresses.empty()) return addresses;
    meeting.check();
    if (std::chrono::steady_clock::now() > end)
      throw gloo::IoException("rank " + std::to_string(rank) + " has left no addresses of its connections");
  }
}

class WakeableBuffer final : public UnboundBuffer {
 public:
  WakeableBuffer(std::unique_ptr<UnboundBuffer> inner, std::shared_ptr<Waits> waits,
                 std::shared_ptr<const std::vector<int>> ranks)
      : UnboundBuffer(inner->ptr, inner->size),
        inner_(std::move(inner)),
        waits_(std::move(waits)),
        ranks_(std::move(ranks)) {
    waits_->add(*inner_);
  }
  ~WakeableBuffer() override { waits_->remove(*inner_); }
  WakeableBuffer(const WakeableBuffer&) = delete;
  WakeableBuffer& operator=(const WakeableBuffer&) = delete;

  bool waitRecv(int* rank, std::chrono::milliseconds timeout) override {
    if (!inner_->waitRecv(rank, timeout)) fail_ended();
    return true;
  }
  bool waitSend(int* rank, std::chrono::milliseconds timeout) override {
    if (!inner_->waitSend(rank, timeout)) fail_ended();
    return true;
  }
  void abortWaitRecv() override { inner_->abortWaitRecv(); }
  void abortWaitSend() override { inner_->abortWaitSend(); }
  void send(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(of(peer), slot, offset, bytes);
  }
  void recv(int peer, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(of(peer), slot, offset, bytes);
  }
  void recv(std::vector<int> peers, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    for (int& peer : peers) peer = of(peer);
    inner_->recv(std::move(peers), slot, offset, bytes);
  }

 private:
  int of(int peer) const { return ranks_->at(static_cast<std::size_t>(peer)); }

  const std::unique_ptr<UnboundBuffer> inner_;
  const std::shared_ptr<Waits> waits_;
  const std::shared_ptr<const std::vector<int>> ranks_;
};

// Connections to some ranks of `inner`: rank i here is ranks[i] there.
class WakeableConnections final : public gloo::transport::Context {
 public:
  WakeableConnections(int own_rank, std::vector<int> ranks, std::shared_ptr<Context> inner,
                      std::shared_ptr<Waits> waits)
      : Context(own_rank, static_cast<int>(ranks.size())),
        ranks_(std::make_shared<std::vector<int>>(std::move(ranks))),
        inner_(std::move(inner)),
        waits_(std::move(waits)) {}

  std::unique_ptr<gloo::transport::Pair>& getPair(int peer) override { return inner_->getPair(of(peer)); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int peer) override { return inner_->createPair(of(peer)); }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data, std::size_t bytes) override {
    return std::make_unique<WakeableBuffer>(inner_->createUnboundBuffer(data, bytes), waits_, ranks_);
  }

 private:
  int of(int peer) const { return ranks_->at(static_cast<std::size_t>(peer)); }

  const std::shared_ptr<const std::vector<int>> ranks_;
  const std::shared_ptr<Context> inner_;
  const std::shared_ptr<Waits> waits_;
};

}  // namespace

void Waits::add(UnboundBuffer& buffer) {
  const std::lock_guard lock(mutex_);
  if (ended_) fail_ended();
  buffers_.push_back(&buffer);
}

void Waits::remove(UnboundBuffer& buffer) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = std::find(buffers_.begin(), buffers_.end(), &buffer);
  if (found == buffers_.end()) return;
  *found = buffers_.back();
  buffers_.pop_back();
}

// If the pair is closed during connect, Gloo returns as if it had connected.
void Waits::connect(gloo::transport::Pair& pair, const std::vector<char>& address) {
  const auto set = [this](gloo::transport::Pair* connecting) {
    const std::lock_guard lock(mutex_);
    connecting_ = connecting;
    return ended_;
  };
  if (set(&pair)) fail_ended();
  try {
    pair.connect(address);
  } catch (...) {
    set(nullptr);
    throw;
  }
  if (set(nullptr)) fail_ended();
}

// Ends both kinds of waits, since the buffer may be in either of them, or begin it later.
void Waits::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  if (connecting_ != nullptr) connecting_->close();
  for (UnboundBuffer* buffer : buffers_) {
    buffer->abortWaitSend();
    buffer->abortWaitRecv();
  }
}

WakeableContext::WakeableContext(int own_rank, int ranks, const Meeting& meeting,
                                 const std::shared_ptr<gloo::transport::Device>& device,
                                 const std::shared_ptr<Waits>& waits)
    : Context(own_rank, ranks), connections_(device->createContext(own_rank, ranks)) {
  device_ = device;
  setTimeout(std::max(meeting.limit / kLimitsOfAConnection, std::chrono::milliseconds(1)));
  connections_->setTimeout(getTimeout());
  connect(meeting, *waits);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  transportContext_ = std::make_shared<WakeableConnections>(own_rank, std::move(all), connections_, waits);
}

// Each rank leaves one address for each other rank, in their order. All addresses have the same size.
void WakeableContext::connect(const Meeting& meeting, Waits& waits) {
  std::string own;
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    const std::vector<char> address = connections_->createPair(r)->address().bytes();
    own.append(address.begin(), address.end());
  }
  const std::size_t bytes = own.size() / static_cast<std::size_t>(size - 1);
  meeting.board.put(connections_of(rank), own);
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    const std::string addresses = wait_for(meeting, r);
    if (addresses.size() != own.size())
      throw gloo::IoException("rank " + std::to_string(r) + " has left addresses of another size");
    const char* at = addresses.data() + bytes * static_cast<std::size_t>(rank < r ? rank : rank - 1);
    waits.connect(*connections_->getPair(r), std::vector<char>(at, at + bytes));
  }
}

WakeableContext::WakeableContext(int own_rank, const std::vector<int>& ranks, const WakeableContext& all,
                                 const std::shared_ptr<Waits>& waits)
    : Context(own_rank, static_cast<int>(ranks.size())), connections_(all.connections_) {
  transportContext_ = std::make_shared<WakeableConnections>(own_rank, ranks, connections_, waits);
}

}  // namespace belay_gloo
