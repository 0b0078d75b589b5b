// SPDX-License-Identifier: Apache-2.0
// The processes of a run, joined by a cluster plugin: its calls as the host makes them.
//
//   RankGroup group(instance);
//   group.open({.rank = 1, .size = 2, ...});
//   group.all_reduce(values);
//   group.close();
//
// The session's calls come one after the other and have one tag; those of the buckets' thread (gradient_buckets.h) have
// another, and may be under way at the same time. Errors are the plugin's, with its label: ABORTED
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
    std::string directory;  // absolute, seen by all
    std::string name;       // of this attempt alone
    double wait_secs = 0;
    double timeout_secs = 0;
    std::int64_t generation = 0;
  };
  // Borrowed.
  explicit RankGroup(PluginInstance& cluster) : cluster_(cluster) {}

  // Meets the others. UNAVAILABLE with those that are missing; CANCELLED where the instance was interrupted.
  void open(const Meeting& meeting);
  bool is_open() const noexcept { return open_; }
  // Leaves them; what goes wrong then is a warning.
  void close() noexcept;
  // As the plugin has answered to open.
  const ClusterPlace& place() const noexcept { return place_; }
  int rank() const noexcept { return place_.rank; }
  int size() const noexcept { return place_.size; }

  void broadcast(const TensorView& tensor, int from);
  // The same for a string of any length.
  std::string broadcast(std::string text, int from);
  // `wire`: kBFloat16 where elements are rounded to it on the way. [any thread, a tag of its own]
  void all_reduce(const TensorView& tensor, DType wire, std::uint32_t tag);
  // Each rank's numbers, one behind the other.
  std::vector<std::int64_t> all_gather(const std::vector<std::int64_t>& mine);
  // Each rank's string, by rank; of any length.
  std::vector<std::string> gather_texts(const std::string& mine);

 private:
  PluginInstance& cluster_;
  ClusterPlace place_;
  bool open_ = false;
};

}  // namespace belay::runtime
