// SPDX-License-Identifier: Apache-2.0
// Ranks are threads of one process, for tests and for programs that train several ranks themselves. A process alone is
// a group of one.
#include <belay/plugin.h>

#include <algorithm>
#include <cstring>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "meeting.h"

namespace {

using belay::Code;
using belay::Collective;
using belay::DType;
using belay::fail;
using belay::TensorView;
using belay_local::Meeting;
using belay_local::Part;

// A rank's seat in a meeting.
struct Seat {
  std::shared_ptr<Meeting> meeting;
  int rank = 0;
  std::string name;
};

float to_bfloat16(float value) {
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  bits = value != value ? bits | 0x400000 : bits + 0x7fff + ((bits >> 16) & 1);
  bits &= 0xffff0000;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

class Local final : public belay::Cluster {
 public:
  static constexpr auto about = belay::about("local", "Joins the threads of one process, each of which is a rank");

  ~Local() override { leave(); }

  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    const int size = std::max(args.size(), 1), rank = std::max(args.rank(), 0);
    if (rank >= size)
      fail(Code::kInvalidArgument,
           "rank " + std::to_string(rank) + " is not below the number of ranks, " + std::to_string(size));
    wait_ = args.wait();
    splits_ = 0;
    std::vector<int> names;
    for (int r = 0; r < size; ++r) names.push_back(r);
    const std::lock_guard lock(mutex_);
    all_ = meet(std::string(args.directory()) + "\n" + std::string(args.meeting()), rank, names);
    return {rank, size, rank, args.generation()};
  }
  void close() override { leave(); }
  void abort() override {
    const std::lock_guard lock(mutex_);
    for (const auto& part : parts_) part->meeting->abort(part->rank);
    if (all_ != nullptr) all_->meeting->abort(all_->rank);
  }

  void barrier(const Collective& call) override {
    together(call, {"barrier"}, [](const std::vector<Part>&) {});
  }

  void broadcast(const Collective& call, const TensorView& tensor) override {
    const Seat& seat = of(call);
    check_peer(seat, call, false);
    std::vector<char> sent(tensor.bytes());
    together(call, part_of("broadcast", tensor), [&](const std::vector<Part>& parts) {
      copy(sent.data(), parts[static_cast<std::size_t>(call.peer())].data, sent.size());
    });
    copy(tensor.mutable_data(), sent.data(), sent.size());
  }

  void all_reduce(const Collective& call, const TensorView& tensor) override {
    if (call.wire() == DType::kBFloat16) return sum<float>(call, tensor, to_bfloat16);
    switch (tensor.dtype()) {
      case DType::kFloat32: return sum<float>(call, tensor, [](float x) { return x; });
      case DType::kFloat64: return sum<double>(call, tensor, [](double x) { return x; });
      default: return sum<std::int64_t>(call, tensor, [](std::int64_t x) { return x; });
    }
  }

  void all_gather(const Collective& call, const TensorView& mine, const TensorView& all) override {
    const Seat& seat = of(call);
    if (all.dtype() != mine.dtype() || all.bytes() != mine.bytes() * static_cast<std::size_t>(seat.meeting->size()))
      fail(Code::kInvalidArgument, "the tensor for all has " + std::to_string(all.bytes()) + " bytes, not " +
                                       std::to_string(seat.meeting->size()) + " times the " +
                                       std::to_string(mine.bytes()) + " of each rank's");
    auto* to = static_cast<char*>(all.mutable_data());
    together(call, part_of("all_gather", mine), [&](const std::vector<Part>& parts) {
      for (std::size_t r = 0; r < parts.size(); ++r) copy(to + r * mine.bytes(), parts[r].data, mine.bytes());
    });
  }

  void send(const Collective& call, const TensorView& tensor) override {
    const Seat& seat = of(call);
    check_peer(seat, call, true);
    seat.meeting->exchange(seat.rank, {call.tag(), seat.rank, call.peer()}, 0, 2, part_of("message", tensor),
                           call.timeout(), [](const std::vector<Part>&) {});
  }
  void receive(const Collective& call, const TensorView& tensor) override {
    const Seat& seat = of(call);
    check_peer(seat, call, true);
    seat.meeting->exchange(
        seat.rank, {call.tag(), call.peer(), seat.rank}, 1, 2, part_of("message", tensor), call.timeout(),
        [&](const std::vector<Part>& parts) { copy(tensor.mutable_data(), parts[0].data, parts[0].bytes); });
  }

  belay::Subgroup split(const Collective& call, int colour) override {
    const Seat& seat = of(call);
    std::vector<int> names;
    int rank = 0;
    const Part mine{"split", &colour, sizeof(colour)};
    together(call, mine, [&](const std::vector<Part>& parts) {
      for (std::size_t r = 0; r < parts.size(); ++r) {
        if (*static_cast<const int*>(parts[r].data) != colour) continue;
        if (static_cast<int>(r) == seat.rank) rank = static_cast<int>(names.size());
        names.push_back(seat.meeting->names()[r]);
      }
    });
    const int number = splits_++;
    if (colour < 0) return {};
    auto part = meet(seat.name + "/" + std::to_string(number) + "/" + std::to_string(colour), rank, names);
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
    return {reinterpret_cast<belay_ranks*>(parts_.back().get()), rank, static_cast<int>(names.size())};
  }

 private:
  std::unique_ptr<Seat> meet(const std::string& name, int rank, const std::vector<int>& names) {
    auto seat = std::make_unique<Seat>(Seat{Meeting::of(name, names), rank, name});
    seat->meeting->join(rank, wait_, [this] { return host().stopping(); });
    return seat;
  }
  void leave() {
    const std::lock_guard lock(mutex_);
    for (const auto& part : parts_) part->meeting->leave(part->rank);
    if (all_ != nullptr) all_->meeting->leave(all_->rank);
    parts_.clear();
    all_.reset();
  }

  const Seat& of(const Collective& call) const {
    if (call.ranks() != nullptr) return *reinterpret_cast<const Seat*>(call.ranks());
    if (all_ == nullptr) fail(Code::kFailedPrecondition, "the cluster is not open");
    return *all_;
  }
  static void check_peer(const Seat& seat, const Collective& call, bool other) {
    if (call.peer() < 0 || call.peer() >= seat.meeting->size() || (other && call.peer() == seat.rank))
      fail(Code::kInvalidArgument, "there is no " + std::string(other ? "other " : "") + "rank " +
                                       std::to_string(call.peer()) + " in a group of " +
                                       std::to_string(seat.meeting->size()));
  }
  static Part part_of(const char* what, const TensorView& tensor) {
    return {std::string(what) + " of " + belay::dtype_name(tensor.dtype()), tensor.data(), tensor.bytes()};
  }
  static void copy(void* to, const void* from, std::size_t bytes) {
    if (bytes != 0) std::memcpy(to, from, bytes);
  }
  void together(const Collective& call, const Part& mine, const std::function<void(const std::vector<Part>&)>& read) {
    const Seat& seat = of(call);
    seat.meeting->exchange(seat.rank, {call.tag()}, seat.rank, seat.meeting->size(), mine, call.timeout(), read);
  }
  // Adds in the order of the ranks.
  template <class T, class F>
  void sum(const Collective& call, const TensorView& tensor, F&& rounded) {
    std::vector<T> total(tensor.size());
    together(call, part_of("all_reduce", tensor), [&](const std::vector<Part>& parts) {
      for (std::size_t r = 0; r < parts.size(); ++r) {
        const T* values = static_cast<const T*>(parts[r].data);
        for (std::size_t i = 0; i < total.size(); ++i)
          total[i] = r == 0 ? rounded(values[i]) : rounded(total[i] + rounded(values[i]));
      }
    });
    copy(tensor.mutable_data(), total.data(), total.size() * sizeof(T));
  }

  std::chrono::nanoseconds wait_{};
  std::mutex mutex_;  // guards the seats, for abort
  std::unique_ptr<Seat> all_;
  std::vector<std::unique_ptr<Seat>> parts_;
  int splits_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", Local)
