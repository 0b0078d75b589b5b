// SPDX-License-Identifier: Apache-2.0
#include "group.h"

#include <gloo/allgather.h>
#include <gloo/allreduce.h>
#include <gloo/barrier.h>
#include <gloo/broadcast.h>
#include <gloo/types.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <utility>
#include <vector>

namespace belay_gloo {
namespace {

using belay::Collective;
using belay::DType;
using belay::TensorView;
using std::chrono::milliseconds;

// The lifelines notice a rank that is gone. So a call waits for as long as its ranks compute.
constexpr milliseconds kNoLimit = std::chrono::hours(24 * 365);
constexpr std::uint8_t kMessages = 0x80;  // a slot that Gloo's collectives leave free

milliseconds limit_of(const Collective& call) {
  if (call.timeout().count() <= 0) return kNoLimit;
  return std::max(std::chrono::duration_cast<milliseconds>(call.timeout()), milliseconds(1));
}
std::uint64_t slot_of(std::uint8_t kind, std::uint32_t tag) {
  return (static_cast<std::uint64_t>(kind) << 56) | (static_cast<std::uint64_t>(tag) << 24);
}

template <class T>
void add(void* sum, const void* a, const void* b, std::size_t n) {
  auto* to = static_cast<T*>(sum);
  const auto* x = static_cast<const T*>(a);
  const auto* y = static_cast<const T*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = x[i] + y[i];
}

// The upper half of a float32, rounded to the nearest. A tie goes to the even one, and a NaN stays a NaN.
std::uint16_t to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = value != value ? bits | 0x400000 : bits + 0x7fff + ((bits >> 16) & 1);
  return static_cast<std::uint16_t>(bits >> 16);
}
float from_bfloat16(std::uint16_t value) {
  const std::uint32_t bits = static_cast<std::uint32_t>(value) << 16;
  float out;
  std::memcpy(&out, &bits, sizeof(out));
  return out;
}
void add_bfloat16(void* sum, const void* a, const void* b, std::size_t n) {
  auto* to = static_cast<std::uint16_t*>(sum);
  const auto* x = static_cast<const std::uint16_t*>(a);
  const auto* y = static_cast<const std::uint16_t*>(b);
  for (std::size_t i = 0; i < n; ++i) to[i] = to_bfloat16(from_bfloat16(x[i]) + from_bfloat16(y[i]));
}

}  // namespace

namespace {

std::vector<int> all_ranks(int size) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

}  // namespace

Group::Group(int rank, int size, const Meeting& meeting, const std::shared_ptr<gloo::transport::Device>& device,
             std::shared_ptr<Waits> waits)
    : rank_(rank),
      ranks_(all_ranks(size)),
      waits_(std::move(waits)),
      context_(std::make_shared<WakeableContext>(rank, size, meeting, device, waits_)) {}

Group::Group(int rank, std::vector<int> ranks, int number, const Group& all)
    : rank_(rank), ranks_(std::move(ranks)), number_(number), waits_(all.waits_) {
  if (size() > 1) context_ = std::make_shared<WakeableContext>(rank, ranks_, *all.context_, waits_);
}

void Group::barrier(const Collective& call) {
  if (size() == 1) return;
  std::shared_ptr<gloo::Context> context = context_;
  gloo::BarrierOptions options(context);
  options.setTag(tag_of(call));
  options.setTimeout(limit_of(call));
  gloo::barrier(options);
}

void Group::broadcast(const Collective& call, const TensorView& tensor) {
  if (size() == 1 || tensor.bytes() == 0) return;
  gloo::BroadcastOptions options(context_);
  options.setOutput(static_cast<char*>(tensor.mutable_data()), tensor.bytes());
  options.setRoot(call.peer());
  options.setTag(tag_of(call));
  options.setTimeout(limit_of(call));
  gloo::broadcast(options);
}

template <class T>
void Group::sum(const Collective& call, T* values, std::size_t n,
                void (*f)(void*, const void*, const void*, std::size_t)) {
  gloo::AllreduceOptions options(context_);
  options.setOutput(values, n);
  options.setAlgorithm(gloo::AllreduceOptions::Algorithm::RING);  // adds in one order for a size and a number of
                                                                  // elements
  options.setReduceFunction(f);
  options.setTag(tag_of(call));
  options.setTimeout(limit_of(call));
  gloo::allreduce(options);
}

void Group::all_reduce(const Collective& call, const TensorView& tensor) {
  const std::size_t n = tensor.size();
  if (n == 0) return;
  if (call.wire() == DType::kBFloat16) {
    auto* values = static_cast<float*>(tensor.mutable_data());
    std::vector<std::uint16_t> halves(n);
    for (std::size_t i = 0; i < n; ++i) halves[i] = to_bfloat16(values[i]);
    if (size() > 1) sum(call, halves.data(), n, add_bfloat16);
    for (std::size_t i = 0; i < n; ++i) values[i] = from_bfloat16(halves[i]);
    return;
  }
  if (size() == 1) return;
  void* data = tensor.mutable_data();
  switch (tensor.dtype()) {
    case DType::kFloat32: return sum(call, static_cast<float*>(data), n, add<float>);
    case DType::kFloat64: return sum(call, static_cast<double*>(data), n, add<double>);
    default: return sum(call, static_cast<std::int64_t*>(data), n, add<std::int64_t>);
  }
}

void Group::all_gather(const Collective& call, const void* mine, std::size_t bytes, void* all) {
  if (bytes == 0) return;
  if (size() == 1) {
    std::memcpy(all, mine, bytes);
    return;
  }
  gloo::AllgatherOptions options(context_);
  options.setInput(static_cast<char*>(const_cast<void*>(mine)), bytes);
  options.setOutput(static_cast<char*>(all), bytes * static_cast<std::size_t>(size()));
  options.setTag(tag_of(call));
  options.setTimeout(limit_of(call));
  gloo::allgather(options);
}

void Group::send(const Collective& call, const TensorView& tensor) {
  if (tensor.bytes() == 0) return;
  const auto buffer = context_->createUnboundBuffer(const_cast<void*>(tensor.data()), tensor.bytes());
  buffer->send(call.peer(), slot_of(kMessages, tag_of(call)));
  buffer->waitSend(limit_of(call));
}

void Group::receive(const Collective& call, const TensorView& tensor) {
  if (tensor.bytes() == 0) return;
  const auto buffer = context_->createUnboundBuffer(tensor.mutable_data(), tensor.bytes());
  buffer->recv(call.peer(), slot_of(kMessages, tag_of(call)));
  buffer->waitRecv(limit_of(call));
}

}  // namespace belay_gloo
