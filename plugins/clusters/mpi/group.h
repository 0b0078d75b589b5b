// SPDX-License-Identifier: Apache-2.0
// A group of ranks, and its calls. MPI matches the collective calls of a communicator by their order; here they match
// by tag. So each tag gets a communicator at its first call.
//
// Calls begin without a wait and are then asked whether they are done. So they notice a failed rank, a stopped run, and
// the end of the call's time. A call that is broken off cannot be taken back, so the process no longer uses MPI.
#pragma once

#include <belay/cluster.h>

#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "library.h"

namespace belay_mpi {

class Group {
 public:
  // Throws if a wait has to end. Called while a call waits.
  using Stopped = std::function<void()>;

  // Takes ownership of `base`.
  Group(MPI_Comm base, Stopped stopped);
  ~Group();
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  void barrier(const belay::Collective& call);
  void broadcast(const belay::Collective& call, const belay::TensorView& tensor);
  void all_reduce(const belay::Collective& call, const belay::TensorView& tensor);
  void all_gather(const belay::Collective& call, const belay::TensorView& mine, const belay::TensorView& all);
  void send(const belay::Collective& call, const belay::TensorView& tensor);
  void receive(const belay::Collective& call, const belay::TensorView& tensor);
  // Returns the group of this colour, in the order of its ranks. Null: the colour is below 0.
  std::unique_ptr<Group> split(const belay::Collective& call, int colour);

 private:
  void sum(const belay::Collective& call, void* data, int count, MPI_Datatype type, MPI_Op op);
  MPI_Comm of(const belay::Collective& call);
  void all_are_here(const belay::Collective& call);
  void wait(const belay::Collective& call, MPI_Request* requests, int count, const char* what);

  const MPI_Comm base_;
  const Stopped stopped_;
  int rank_ = 0, size_ = 1;
  std::mutex mutex_;
  std::map<std::uint32_t, MPI_Comm> by_tag_;
};

}  // namespace belay_mpi
