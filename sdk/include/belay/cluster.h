// SPDX-License-Identifier: Apache-2.0
// A Cluster joins the processes of a run and moves tensors between them. [cluster] names it in a manifest. An engine
// (Gloo, MPI) does transport, rendezvous and collectives; the plugin passes calls on to it.
//
//   class Alone final : public belay::Cluster {          // a run of one process
//    public:
//     static constexpr auto about = belay::about("alone", "Runs in one process");
//     belay::ClusterPlace open(const belay::ClusterArgs& args) override { return {0, 1, 0, args.generation()}; }
//     void barrier(const belay::Collective&) override {}
//     ...
//   };
//
// Order. The host calls open on the main thread. Then the other calls come from any thread; calls of different tags may
// overlap. It calls close when no call is in progress. After a failure it closes, and may open the next generation.
//
// Errors. Calls match by group and tag. If a call's peer fails, leaves, or is silent for the timeout, the call throws
// Code::kAborted. The message begins with the peer ("rank 1 ..."). Each later call throws the same. open throws
// Code::kUnavailable and names the missing ranks. The host shows the first failed rank to the user. So a plugin that
// only sees a broken connection must find out its rank.
//
// Ranks, at the end of this header, is the caller's side, for example for a hook.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "belay/detail/sized.h"
#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// The place of this process among those of the run.
struct ClusterPlace {
  int rank = 0;                 // 0 <= rank < size; 0 is the chief
  int size = 1;                 // of processes
  int local_rank = 0;           // among those of this machine; 0 if not known
  std::int64_t generation = 0;  // one more each time that processes form the group again
};

// The arguments of open. It is valid for the call.
class ClusterArgs {
 public:
  explicit ClusterArgs(const belay_cluster_args& given) noexcept : args_(given) {}
  // The values of the launcher, or of the program that runs the training. -1: there is no launcher, or the plugin's
  // library knows better (MPI). In a later generation rank() is the previous rank, -1 for a process that joins.
  int rank() const noexcept { return args_.rank; }
  int size() const noexcept { return args_.size; }
  int local_rank() const noexcept { return args_.local_rank; }
  // Number of processes that is enough, in a later generation; else size().
  int min_size() const noexcept { return args_.min_size; }
  std::int64_t generation() const noexcept { return args_.generation; }
  // The longest time that open waits for the others.
  std::chrono::nanoseconds wait() const noexcept { return std::chrono::nanoseconds(args_.wait_ns); }
  // A rank without a sign of life for this time has failed. A rank that computes, saves or evaluates for longer has
  // not: test for the process, not for its call.
  std::chrono::nanoseconds timeout() const noexcept { return std::chrono::nanoseconds(args_.timeout_ns); }
  // Meeting place of the ranks: an absolute path to an existing directory that all can see. Empty: none.
  std::string_view directory() const noexcept { return detail::view(args_.directory); }
  // Letters, digits and '-', the same on all ranks and new each time. Begin names in a store with it, so data of an
  // earlier attempt does not match. If the manifest sets the plugin's option "rendezvous", only rank 0 has the value.
  // It is empty on the other ranks, which learn it at the meeting place.
  std::string_view meeting() const noexcept { return detail::view(args_.meeting); }

 private:
  belay_cluster_args args_;
};

// Identifies one call of the ranks. It is valid for the call.
class Collective {
 public:
  explicit Collective(const belay_collective& given) noexcept : call_(given) {}
  // The group: null for all ranks, else Subgroup::ranks of a split.
  belay_ranks* ranks() const noexcept { return call_.ranks; }
  // Tag of the call, below BELAY_CLUSTER_TAGS.
  std::uint32_t tag() const noexcept { return call_.tag; }
  // A rank of the group: the source of a broadcast, the receiver of a send, the sender of a receive.
  int peer() const noexcept { return call_.peer; }
  // For an all_reduce of float32: kBFloat16 if elements are rounded on the way; kInvalid: they are not.
  DType wire() const noexcept { return static_cast<DType>(call_.wire_dtype); }
  // Time limit of the call, even if the others are alive; zero: no limit.
  std::chrono::nanoseconds timeout() const noexcept { return std::chrono::nanoseconds(call_.timeout_ns); }

 private:
  belay_collective call_;
};

// A group that split made. The plugin keeps it until close. `ranks` is null for a rank that is in no group.
struct Subgroup {
  belay_ranks* ranks = nullptr;
  int rank = -1;  // in the group
  int size = 0;
};

// The base of plugins of the kind "cluster". Tensors are dense memory of the host and hold numbers. Write results
// through mutable_data().
class Cluster : public Plugin {
 public:
  // Meets the other ranks. [main]
  virtual ClusterPlace open(const ClusterArgs& args) = 0;
  // Leaves the other ranks. Ranks that still wait for this one see that it has left. [main]
  virtual void close() {}
  // Ends the calls that wait, and later calls until close, with Code::kCancelled. It must not wait. [any]
  virtual void abort() {}
  // Returns when every rank of the group has called it. [any], like all calls below
  virtual void barrier(const Collective& call) = 0;
  // Copies the tensor of the rank peer() into those of the others.
  virtual void broadcast(const Collective& call, const TensorView& tensor) = 0;
  // Writes the sum over the ranks into each rank's tensor: float32, float64 or int64. The order of the additions
  // depends only on sizes. So each rank gets the same bits, also in a repeated run.
  virtual void all_reduce(const Collective& call, const TensorView& tensor) = 0;
  // Writes each rank's `mine`, in the order of the ranks, to `all`, which has size times the elements.
  virtual void all_gather(const Collective& call, const TensorView& mine, const TensorView& all) = 0;
  // send passes a tensor to the rank peer(), which calls receive with the same tag.
  virtual void send(const Collective& call, const TensorView& tensor) = 0;
  virtual void receive(const Collective& call, const TensorView& tensor) = 0;
  // Makes groups of ranks with the same colour, in the order of their ranks; a colour below 0 joins none. All ranks of
  // the group call it.
  virtual Subgroup split(const Collective& call, int colour) = 0;
};

// The ranks of a run for callers such as hooks: a view, cheap to make, valid as long as the host. In a run of one
// process it is a group of one, so the same hook works in both.
//
//   void after_run(belay::RunContext&, const belay::RunValues& v) override {
//     belay::Tensor seconds({1}, {seconds_});
//     belay::Ranks(host()).all_reduce(seconds);          // the sum over all ranks
//   }
//
// Each rank must make the same calls in the same order. So a hook on the chief alone makes none, and a hook that calls
// in some steps decides by the step's number. Tags separate calls of several threads at the same time. They belong to
// the instance and never match those of other instances. ABORTED: a rank has failed, and the run recovers or ends. Do
// not catch this error. [any]
class Ranks {
 public:
  explicit Ranks(const Host& host) noexcept : host_(&host) {}

  // The place among all ranks, also after a split.
  ClusterPlace place() const {
    auto place = detail::sized<belay_cluster_place>();
    detail::Status status;
    status.check(api().place(host_->raw(), &place, status));
    return {place.rank, place.size, place.local_rank, place.generation};
  }
  // Returns when every rank of the group has called it.
  void barrier(std::uint32_t tag = 0) const {
    const belay_collective call = made(tag);
    detail::Status status;
    status.check(api().barrier(host_->raw(), &call, status));
  }
  // Copies the tensor of the rank `root` to all others. Tensors have one dtype and number of elements.
  void broadcast(Tensor& tensor, int root = 0, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, root);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().broadcast(host_->raw(), &call, &raw, status));
  }
  // Writes the sum over all ranks into each rank's tensor: float32, float64 or int64. Each rank gets the same bits.
  void all_reduce(Tensor& tensor, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().all_reduce(host_->raw(), &call, &raw, status));
  }
  // Returns the tensors of all ranks in the order of ranks. The result has one more dimension in front, of the group's
  // size.
  Tensor all_gather(const Tensor& mine, std::uint32_t tag = 0) const {
    Dims dims = mine.dims();
    dims.insert(dims.begin(), group_.ranks == nullptr ? place().size : group_.size);
    Tensor all(mine.dtype(), dims);
    const belay_collective call = made(tag);
    const belay_tensor raw = mine.view(), raw_all = all.view();
    detail::Status status;
    status.check(api().all_gather(host_->raw(), &call, &raw, &raw_all, status));
    return all;
  }
  // Sends a tensor to the rank `to`, which calls receive with the same tag.
  void send(const Tensor& tensor, int to, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, to);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().send(host_->raw(), &call, &raw, status));
  }
  // Receives into a tensor of the sender's dtype and number of elements.
  void receive(Tensor& tensor, int from, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, from);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().receive(host_->raw(), &call, &raw, status));
  }
  // Makes groups of ranks with the same colour. With a colour below 0 this rank joins none: group().size is 0, and no
  // call may be made.
  Ranks split(int colour, std::uint32_t tag = 0) const {
    Ranks part(*host_);
    const belay_collective call = made(tag);
    std::int32_t rank = -1, size = 0;
    detail::Status status;
    status.check(api().split(host_->raw(), &call, colour, &part.group_.ranks, &rank, &size, status));
    part.group_.rank = rank, part.group_.size = size;
    return part;
  }
  // The place of this rank in the group of a split.
  const Subgroup& group() const noexcept { return group_; }

 private:
  const belay_cluster_service& api() const noexcept { return host_->services().cluster; }
  belay_collective made(std::uint32_t tag, int peer = 0) const noexcept {
    auto call = detail::sized<belay_collective>();
    call.ranks = group_.ranks;
    call.tag = tag;
    call.peer = peer;
    return call;
  }

  const Host* host_;
  Subgroup group_;
};

}  // namespace v0
}  // namespace belay
