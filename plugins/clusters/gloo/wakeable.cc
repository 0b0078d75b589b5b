// SPDX-License-Identifier: Apache-2.0
#include "wakeable.h"

#include <algorithm>
#include <utility>

#include <gloo/common/error.h>

namespace belay_gloo {
namespace {

using gloo::transport::UnboundBuffer;

[[noreturn]] void fail_ended() { throw gloo::IoException("the calls of this group were ended"); }

class WakeableBuffer final : public UnboundBuffer {
 public:
  WakeableBuffer(std::unique_ptr<UnboundBuffer> inner, std::shared_ptr<Waits> waits)
      : UnboundBuffer(inner->ptr, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {
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
  void send(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->send(rank, slot, offset, bytes);
  }
  void recv(int rank, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(rank, slot, offset, bytes);
  }
  void recv(std::vector<int> ranks, std::uint64_t slot, std::size_t offset, std::size_t bytes) override {
    inner_->recv(std::move(ranks), slot, offset, bytes);
  }

 private:
  const std::unique_ptr<UnboundBuffer> inner_;
  const std::shared_ptr<Waits> waits_;
};

class WakeableConnections final : public gloo::transport::Context {
 public:
  WakeableConnections(std::shared_ptr<Context> inner, std::shared_ptr<Waits> waits)
      : Context(inner->rank, inner->size), inner_(std::move(inner)), waits_(std::move(waits)) {}

  std::unique_ptr<gloo::transport::Pair>& getPair(int rank) override { return inner_->getPair(rank); }
  std::unique_ptr<gloo::transport::Pair>& createPair(int rank) override { return inner_->createPair(rank); }
  std::unique_ptr<UnboundBuffer> createUnboundBuffer(void* data, std::size_t size) override {
    return std::make_unique<WakeableBuffer>(inner_->createUnboundBuffer(data, size), waits_);
  }

 private:
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

void WakeableContext::connect(gloo::rendezvous::Store& store, std::shared_ptr<gloo::transport::Device>& device,
                              const std::shared_ptr<Waits>& waits) {
  connectFullMesh(store, device);
  transportContext_ = std::make_shared<WakeableConnections>(std::move(transportContext_), waits);
}

}  // namespace belay_gloo
