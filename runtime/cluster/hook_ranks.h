// SPDX-License-Identifier: Apache-2.0
// Hooks call the other ranks of a run through HookRanks, if each process has the hook ([session] hooks_on_all_ranks).
//
// Each hook has a separate group of all ranks, so its calls never meet another hook's or the host's. The group is made
// at the hook's first call, which all ranks make. A hook that only the chief has gets no group.
//
// A hook may call in after_create_session, after_run and end. All ranks are sure to call there, or the others learn
// that one does not. A call is refused elsewhere: in before_run another rank may end the run instead, and only the
// chief saves. A hook is responsible for calls from its own thread.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "belay/cluster.h"
#include "runtime/cluster/rank_wait.h"
#include "runtime/loader/instance/host.h"
#include "runtime/loader/instance/instance.h"

namespace belay::runtime {

class HookRanks {
 public:
  // `hooks` are the names of the instances, in the manifest's order, which is the same on all ranks. `waits` counts
  // waits that are no hang of this process. All but the names are borrowed.
  HookRanks(PluginInstance& cluster, const std::vector<std::string>& hooks, DiskCalls& waits);
  HookRanks(const HookRanks&) = delete;
  HookRanks& operator=(const HookRanks&) = delete;

  // The ranks have met, maybe not for the first time. Previous groups are gone. [session]
  void met();
  // The ranks leave each other. From now on calls are FAILED_PRECONDITION. [session]
  void left();

  // Calls a slot of the cluster's table for this hook, with the other arguments of the slot. FAILED_PRECONDITION if
  // this hook, or its callback, may not call it. The cluster's ABORTED passes through. [any]
  template <class... P, class... A>
  void call(const InstanceHost& hook, const belay_collective& given, Callback callback,
            std::int32_t (*belay_cluster_api::*slot)(void*, const belay_collective*, P...), A... args) {
    const RankWait waiting(waits_);
    const belay_collective made = with_group(hook, given);
    cluster_.call(callback, slot, &made, args...);
  }
  void split(const InstanceHost& hook, const belay_collective& given, std::int32_t colour, belay_ranks** group,
             std::int32_t* rank, std::int32_t* size);

 private:
  struct Member {
    std::string hook;
    belay_ranks* group = nullptr;  // null: not made yet
  };

  belay_ranks* group_of(const InstanceHost& hook);
  belay_collective with_group(const InstanceHost& hook, belay_collective call);
  void split_cluster(const belay_collective& call, std::int32_t colour, belay_ranks** group, std::int32_t* rank,
                     std::int32_t* size);

  PluginInstance& cluster_;
  DiskCalls& waits_;
  std::mutex mutex_;
  std::vector<Member> members_;
  bool met_ = false;
};

}  // namespace belay::runtime
