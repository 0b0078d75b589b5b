// SPDX-License-Identifier: Apache-2.0
// RankGroup is the processes of a run that a cluster plugin joins. The host calls the plugin through it.
//
//   RankGroup group(instance);
//   group.open({.rank = 1, .size = 2, ...});
//   group.all_reduce(values);
//   group.close();
//
// The session's calls come one after the other and have one tag. Those of the buckets' thread (gradient_buckets.h) have
// another tag, and may run at the same time. Errors are the plugin's, with its label: ABORTED
// "cluster "gloo" (...) in all_reduce: rank 0 has ended or left". [session thread]
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "belay/cluster.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

class RankGroup {
 public:
  struct Meeting {
    int rank = 0;
    int size = 1;
    int local_rank = -1;    // -1: not known
    std::string directory;  // absolute; all see it
    std::string name;       // of this attempt alone
    double wait_secs = 0;
    double timeout_secs = 0;
    std::int64_t generation = 0;
  };
  // Borrowed.
  explicit RankGroup(PluginInstance& cluster) : cluster_(cluster) {}

  // Meets the others. UNAVAILABLE names the missing ones; CANCELLED if the instance was interrupted.
  void open(const Meeting& meeting);
  bool is_open() const noexcept { return open_; }
  // Leaves the others. A failure is a warning here.
  void close() noexcept;
  // The plugin's answer to open.
  const ClusterPlace& place() const noexcept { return place_; }
  int rank() const noexcept { return place_.rank; }
  int size() const noexcept { return place_.size; }

  void broadcast(const TensorView& tensor, int from);
  // Does the same for a string of any length.
  std::string broadcast(std::string text, int from);
  // `wire` is kBFloat16 if elements are rounded to it on the way. [any thread, each with its own tag]
  void all_reduce(const TensorView& tensor, DType wire, std::uint32_t tag);
  // Writes each rank's elements to `all`, in the order of the ranks. [any thread, each with its own tag]
  void all_gather(const TensorView& mine, const TensorView& all, std::uint32_t tag);
  // Returns each rank's numbers, one after the other.
  std::vector<std::int64_t> all_gather(const std::vector<std::int64_t>& mine);
  // Returns each rank's string, by rank. A string may have any length.
  std::vector<std::string> gather_texts(const std::string& mine);

 private:
  PluginInstance& cluster_;
  ClusterPlace place_;
  bool open_ = false;
};

}  // namespace belay::runtime
