// SPDX-License-Identifier: Apache-2.0
#include "wakeable.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include <gloo/common/error.h>

namespace belay_gloo {
namespace {

using gloo::transport::UnboundBuffer;

[[noreturn]] void fail_ended() { throw gloo::IoException("the calls of this group were ended"); }

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

// Rank i is ranks[i] of `inner`.
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

// Both waits: the buffer may be in either, or come to it.
void Waits::end() noexcept {
  const std::lock_guard lock(mutex_);
  if (std::exchange(ended_, true)) return;
  for (UnboundBuffer* buffer : buffers_) {
    buffer->abortWaitSend();
    buffer->abortWaitRecv();
  }
}

WakeableContext::WakeableContext(int own_rank, int ranks, gloo::rendezvous::Store& store,
                                 std::shared_ptr<gloo::transport::Device>& device, std::chrono::milliseconds limit,
                                 const std::shared_ptr<Waits>& waits)
    : Context(own_rank, ranks) {
  setTimeout(limit);
  connectFullMesh(store, device);
  connections_ = std::move(transportContext_);
  std::vector<int> all(static_cast<std::size_t>(ranks));
  std::iota(all.begin(), all.end(), 0);
  transportContext_ = std::make_shared<WakeableConnections>(own_rank, std::move(all), connections_, waits);
}

WakeableContext::WakeableContext(int own_rank, const std::vector<int>& ranks, const WakeableContext& all,
                                 const std::shared_ptr<Waits>& waits)
    : Context(own_rank, static_cast<int>(ranks.size())), connections_(all.connections_) {
  transportContext_ = std::make_shared<WakeableConnections>(own_rank, ranks, connections_, waits);
}

}  // namespace belay_gloo
