// SPDX-License-Identifier: Apache-2.0
// The ranks of a run as its hooks call them, where each process has the hook ([session] hooks_on_all_ranks).
//
// Each hook has a group of its own, which all ranks are in, so that its calls never meet another hook's or the host's.
// It is made at the hook's first call: all ranks make that one, too. A hook of the chief alone has none.
//
// A hook calls where all ranks are sure to call, or where the others are told that one does not: after_create_session,
// after_run and end. In before_run another rank may end the run instead of the step, and a save is the chief's alone;
// there a call is refused. What a hook's own thread calls is the hook's to know.
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
  // The names of the instances, in the manifest's order, which is the same on all ranks. `waits` counts what is no
  // hang of this process. All but the names are borrowed.
  HookRanks(PluginInstance& cluster, const std::vector<std::string>& hooks, DiskCalls& waits);
  HookRanks(const HookRanks&) = delete;
  HookRanks& operator=(const HookRanks&) = delete;

  // The ranks have met, once more perhaps: groups of before are gone. [session]
  void met();
  // They leave each other: calls are FAILED_PRECONDITION from here on. [session]
  void left();

  // A slot of the cluster's table, by this hook, with the rest of its arguments. FAILED_PRECONDITION: not from there,
  // or not by this hook; ABORTED as the cluster says it. [any]
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
