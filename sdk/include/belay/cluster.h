// SPDX-License-Identifier: Apache-2.0
// A Cluster joins the processes of a run and moves tensors between them: [cluster] names it in a manifest. Transport,
// rendezvous and collectives are an engine's (Gloo, MPI); a plugin passes calls on to it.
//
//   class Alone final : public belay::Cluster {          // a run of one process
//    public:
//     static constexpr auto about = belay::about("alone", "One process");
//     belay::ClusterPlace open(const belay::ClusterArgs& args) override { return {0, 1, 0, args.generation()}; }
//     void barrier(const belay::Collective&) override {}
//     ...
//   };
//
// Order: the host calls open on the main thread; then the calls below it come from any thread, those of different tags
// at once; close, when none is under way. After a failure it closes and may open again, with the next generation.
//
// Calls match by group and tag. A call whose peer has failed, has left, or showed no sign of life for the timeout
// throws Code::kAborted with a message that begins with the peer ("rank 1 ..."), and so does each call after it; open
// throws Code::kUnavailable and says who is missing. Which of two ranks failed first decides what is told to a user, so
// a plugin that knows only of a broken connection finds out whose it was.
//
// Ranks, at the end of this header, is the other side: what a hook calls.
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

// Where this process is among those of the run.
struct ClusterPlace {
  int rank = 0;                 // 0 <= rank < size; 0 is the chief
  int size = 1;                 // of processes
  int local_rank = 0;           // among those of this machine; 0 where that is not known
  std::int64_t generation = 0;  // one more each time that processes form the group anew
};

// What open gets. For the call.
class ClusterArgs {
 public:
  explicit ClusterArgs(const belay_cluster_args& given) noexcept : args_(given) {}
  // As the launcher, or the program that runs the training, has set them: -1 where there is no launcher, or where the
  // plugin's library knows better (MPI). Of a later generation: the rank in the one before, -1 for a process that
  // joins.
  int rank() const noexcept { return args_.rank; }
  int size() const noexcept { return args_.size; }
  int local_rank() const noexcept { return args_.local_rank; }
  // How many processes are enough, in a later generation; else size().
  int min_size() const noexcept { return args_.min_size; }
  std::int64_t generation() const noexcept { return args_.generation; }
  // How long open waits for the others.
  std::chrono::nanoseconds wait() const noexcept { return std::chrono::nanoseconds(args_.wait_ns); }
  // A rank that shows no sign of life for so long has failed. One that computes, saves or evaluates for longer has not:
  // a plugin asks whether the process is there, not whether it makes its call.
  std::chrono::nanoseconds timeout() const noexcept { return std::chrono::nanoseconds(args_.timeout_ns); }
  // Where ranks may meet: an absolute path to a directory that is there and that all of them see; empty: there is none.
  std::string_view directory() const noexcept { return detail::view(args_.directory); }
  // Letters, digits and '-': the same on all ranks, and never used before. Names in a store begin with it, so that what
  // an earlier attempt left there is not mistaken for this one's. Where the manifest sets an option "rendezvous" of the
  // plugin, rank 0 alone has it; it is empty on the others, which learn it where they meet.
  std::string_view meeting() const noexcept { return detail::view(args_.meeting); }

 private:
  belay_cluster_args args_;
};

// Which call of the ranks it is. For the call.
class Collective {
 public:
  explicit Collective(const belay_collective& given) noexcept : call_(given) {}
  // The group: null for all ranks, else what split returned in Subgroup::ranks.
  belay_ranks* ranks() const noexcept { return call_.ranks; }
  // Below BELAY_CLUSTER_TAGS.
  std::uint32_t tag() const noexcept { return call_.tag; }
  // A rank of the group: whose tensor a broadcast is of, to whom a send goes, from whom a receive comes.
  int peer() const noexcept { return call_.peer; }
  // Of an all_reduce of float32: kBFloat16 where elements are rounded on the way; kInvalid: they are not.
  DType wire() const noexcept { return static_cast<DType>(call_.wire_dtype); }
  // At most so long for the call, however alive the others are; zero: no limit.
  std::chrono::nanoseconds timeout() const noexcept { return std::chrono::nanoseconds(call_.timeout_ns); }

 private:
  belay_collective call_;
};

// A group that split made, as the plugin keeps it until close; null for a rank that is in none.
struct Subgroup {
  belay_ranks* ranks = nullptr;
  int rank = -1;  // in the group
  int size = 0;
};

// A plugin of the kind "cluster". Tensors are dense memory of the host's, of numbers; those that a call fills are
// written through mutable_data().
class Cluster : public Plugin {
 public:
  // Meets the others. [main]
  virtual ClusterPlace open(const ClusterArgs& args) = 0;
  // Leaves them; those that still wait for this rank see that it has left. [main]
  virtual void close() {}
  // Makes the calls that wait end with Code::kCancelled, and later ones until close. Does not wait. [any]
  virtual void abort() {}
  // Returns when every rank of the group has called it. [any], as all that follow
  virtual void barrier(const Collective& call) = 0;
  // Copies the tensor of the rank peer() into that of the others.
  virtual void broadcast(const Collective& call, const TensorView& tensor) = 0;
  // The sum over the ranks, into each rank's tensor: float32, float64 or int64. Each rank gets the same bits, and gets
  // them again when the run is repeated: the order of the additions depends on sizes alone.
  virtual void all_reduce(const Collective& call, const TensorView& tensor) = 0;
  // Each rank's `mine`, one after the other in the order of the ranks, into `all`, which has size times as many
  // elements.
  virtual void all_gather(const Collective& call, const TensorView& mine, const TensorView& all) = 0;
  // To the rank peer(), which receives with the same tag.
  virtual void send(const Collective& call, const TensorView& tensor) = 0;
  virtual void receive(const Collective& call, const TensorView& tensor) = 0;
  // Groups of those with the same colour, in the order of their ranks; below 0: none. All ranks of the group call it.
  virtual Subgroup split(const Collective& call, int colour) = 0;
};

// The ranks of a run as a plugin calls them, a hook say: a view, cheap to make, valid as long as the host. In a run of
// one process it is a group of one, so the same hook serves both.
//
//   void after_run(belay::RunContext&, const belay::RunValues& v) override {
//     belay::Tensor slowest({1}, {seconds_});
//     belay::Ranks(host()).all_reduce(slowest);          // of all ranks together
//   }
//
// Each rank makes the same calls in the same order: a hook that runs on the chief alone makes none, and one that calls
// in some steps decides by the step's number. Tags tell calls apart that several threads make at the same time; they
// are the instance's own, those of other instances never match. ABORTED: a rank has failed, and the run recovers or
// ends; let it pass. [any]
class Ranks {
 public:
  explicit Ranks(const Host& host) noexcept : host_(&host) {}

  // Of all ranks, also of those that a split left.
  ClusterPlace place() const {
    auto place = detail::sized<belay_cluster_place>();
    detail::Status status;
    status.check(api().place(host_->raw(), &place, status));
    return {place.rank, place.size, place.local_rank, place.generation};
  }
  void barrier(std::uint32_t tag = 0) const {
    const belay_collective call = made(tag);
    detail::Status status;
    status.check(api().barrier(host_->raw(), &call, status));
  }
  // From the rank `root` to all others.
  void broadcast(Tensor& tensor, int root = 0, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, root);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().broadcast(host_->raw(), &call, &raw, status));
  }
  // The sum over all ranks, in each one's tensor: float32, float64 or int64.
  void all_reduce(Tensor& tensor, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().all_reduce(host_->raw(), &call, &raw, status));
  }
  // The tensors of all ranks behind each other: one more dimension in front, of the group's size.
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
  void send(const Tensor& tensor, int to, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, to);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().send(host_->raw(), &call, &raw, status));
  }
  // Into a tensor of the sender's dtype and as many elements.
  void receive(Tensor& tensor, int from, std::uint32_t tag = 0) const {
    const belay_collective call = made(tag, from);
    const belay_tensor raw = tensor.view();
    detail::Status status;
    status.check(api().receive(host_->raw(), &call, &raw, status));
  }
  // Those with the same colour. Below 0 this rank is in none: group().size is 0, and nothing may be called.
  Ranks split(int colour, std::uint32_t tag = 0) const {
    Ranks part(*host_);
    const belay_collective call = made(tag);
    std::int32_t rank = -1, size = 0;
    detail::Status status;
    status.check(api().split(host_->raw(), &call, colour, &part.group_.ranks, &rank, &size, status));
    part.group_.rank = rank, part.group_.size = size;
    return part;
  }
  // Of a split: this rank's place in it.
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
