// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/hook_ranks.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <string_view>

namespace belay::runtime {
namespace {

// The tags of the hooks' first calls count down from the highest tag. The host's own count up from 0.
std::uint32_t tag_of_first_call(std::size_t member) {
  return BELAY_CLUSTER_TAGS - 1 - static_cast<std::uint32_t>(member);
}

void check_place(const InstanceHost& hook) {
  const std::optional<PluginInstance::Current> current = PluginInstance::current();
  if (!current || current->instance.name() != hook.name()) return;  // it is the hook's own thread
  const std::string_view callback = current->callback;
  if (callback == "after_create_session" || callback == "after_run" || callback == "end") return;
  fail(Code::kFailedPrecondition, "[B5106] \"" + hook.name() + "\" calls the other ranks in " + std::string(callback) +
                                      ", which not each of them may be in: call them in after_create_session, "
                                      "after_run or end");
}

}  // namespace

HookRanks::HookRanks(PluginInstance& cluster, const std::vector<std::string>& hooks, DiskCalls& waits)
    : cluster_(cluster), waits_(waits) {
  for (const std::string& hook : hooks) members_.push_back({hook});
}

void HookRanks::met() {
  const std::lock_guard lock(mutex_);
  for (Member& member : members_) member.group = nullptr;
  met_ = true;
}

void HookRanks::left() {
  const std::lock_guard lock(mutex_);
  met_ = false;
}

belay_ranks* HookRanks::group_of(const InstanceHost& hook) {
  const std::lock_guard lock(mutex_);
  const auto found =
      std::find_if(members_.begin(), members_.end(), [&](const Member& member) { return member.hook == hook.name(); });
  if (found == members_.end())
    fail(Code::kFailedPrecondition,
         "[B5106] \"" + hook.name() +
             "\" runs on rank 0 alone, and calls the other ranks, but it does not exist there: list it in "
             "hooks_on_all_ranks of [session], or ask rank() and ranks() of its host first");
  check_place(hook);
  if (!met_) fail(Code::kFailedPrecondition, "[B5106] \"" + hook.name() + "\" calls the other ranks, which have left");
  if (found->group != nullptr) return found->group;
  auto call = detail::sized<belay_collective>();
  call.tag = tag_of_first_call(static_cast<std::size_t>(found - members_.begin()));
  std::int32_t rank = -1, size = 0;
  split_cluster(call, 0, &found->group, &rank, &size);
  return found->group;
}

belay_collective HookRanks::with_group(const InstanceHost& hook, belay_collective call) {
  if (call.ranks == nullptr) call.ranks = group_of(hook);
  return call;
}

void HookRanks::split(const InstanceHost& hook, const belay_collective& given, std::int32_t colour, belay_ranks** group,
                      std::int32_t* rank, std::int32_t* size) {
  const RankWait waiting(waits_);
  split_cluster(with_group(hook, given), colour, group, rank, size);
}

void HookRanks::split_cluster(const belay_collective& call, std::int32_t colour, belay_ranks** group,
                              std::int32_t* rank, std::int32_t* size) {
  *group = nullptr;
  *rank = -1, *size = 0;
  const auto take = [&] {
    const bool in_one = colour >= 0;
    if ((*group != nullptr) != in_one)
      fail(Code::kInvalidArgument,
           fmt::format("[B5105] it returned {} for the colour {}", in_one ? "no group" : "a group", colour));
    if (in_one ? *rank < 0 || *rank >= *size : *rank != -1 || *size != 0)
      fail(Code::kInvalidArgument,
           fmt::format("[B5105] it returned rank {} of {} for the colour {}", *rank, *size, colour));
  };
  cluster_.call_and_take("split", &belay_cluster_api::split, take, &call, colour, group, rank, size);
}

}  // namespace belay::runtime
