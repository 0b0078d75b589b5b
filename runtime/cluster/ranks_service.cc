// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/ranks_service.h"

#include <fmt/core.h>

#include <cstring>
#include <string>

#include "runtime/cluster/hook_ranks.h"
#include "runtime/loader/instance/host.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

using detail::guard;

// Returns the service's object in a run of several processes.
HookRanks& other_ranks(const InstanceHost& instance) {
  try {
    return instance.services().context<HookRanks>();
  } catch (const Error&) {
    fail(Code::kFailedPrecondition, fmt::format("[B5106] \"{}\" runs on rank 0 alone, and calls the other {}, but it "
                                                "does not exist there: use rank() and ranks() of its host to ask first",
                                                instance.name(), instance.services().ranks() - 1));
  }
}

// Checks a call. In a run of one process `alone` does its work; otherwise `together` calls the cluster.
template <class F, class G>
std::int32_t call_ranks(belay_host* host, const belay_collective* given, belay_status* status, F&& alone,
                        G&& together) {
  return guard(status, [&] {
    belay_collective room;
    const belay_collective& call = detail::read_sized(given, room);
    const InstanceHost& instance = InstanceHost::from(host);
    if (call.tag >= BELAY_CLUSTER_TAGS)
      fail(Code::kInvalidArgument, fmt::format("[B5106] tag {} is not below {}", call.tag, BELAY_CLUSTER_TAGS));
    if (instance.services().ranks() > 1) {
      const Doing doing(Activity::kOtherRanks);
      together(other_ranks(instance), instance, call);
    } else {
      alone(call);
    }
  });
}

void check_number(const belay_tensor& tensor) {
  detail::check_tensor(tensor);
  if (tensor.dtype == BELAY_STRING) fail(Code::kInvalidArgument, "[B5106] ranks exchange numbers, not strings");
}

[[noreturn]] void fail_no_other(const belay_collective& call) {
  fail(Code::kInvalidArgument, fmt::format("[B5106] there is no other rank {} in a group of 1", call.peer));
}

std::int32_t place_of_rank(belay_host* host, belay_cluster_place* place, belay_status* status) {
  return guard(status, [&] {
    const ClusterPlace& known = InstanceHost::from(host).services().place();
    auto ours = detail::sized<belay_cluster_place>();
    ours.rank = known.rank;
    ours.size = known.size;
    ours.local_rank = known.local_rank;
    ours.generation = known.generation;
    detail::fill_sized(place, ours);
  });
}
std::int32_t hook_barrier(belay_host* host, const belay_collective* given, belay_status* status) {
  return call_ranks(
      host, given, status, [](const belay_collective&) {},
      [](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        ranks.call(hook, call, "barrier", &belay_cluster_api::barrier);
      });
}
std::int32_t hook_broadcast(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                            belay_status* status) {
  return call_ranks(
      host, given, status,
      [&](const belay_collective& call) {
        check_number(*tensor);
        if (call.peer != 0) fail_no_other(call);
      },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        check_number(*tensor);
        ranks.call(hook, call, "broadcast", &belay_cluster_api::broadcast, tensor);
      });
}
void check_sum(const belay_tensor& tensor) {
  check_number(tensor);
  if (tensor.dtype != BELAY_FLOAT32 && tensor.dtype != BELAY_FLOAT64 && tensor.dtype != BELAY_INT64)
    fail(Code::kInvalidArgument, "[B5106] all_reduce takes float32, float64 and int64");
}
std::int32_t hook_all_reduce(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                             belay_status* status) {
  return call_ranks(
      host, given, status, [&](const belay_collective&) { check_sum(*tensor); },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        check_sum(*tensor);
        ranks.call(hook, call, "all_reduce", &belay_cluster_api::all_reduce, tensor);
      });
}
std::int32_t hook_all_gather(belay_host* host, const belay_collective* given, const belay_tensor* mine,
                             const belay_tensor* all, belay_status* status) {
  return call_ranks(
      host, given, status,
      [&](const belay_collective&) {
        check_number(*mine);
        check_number(*all);
        if (all->dtype != mine->dtype || all->bytes != mine->bytes)
          fail(Code::kInvalidArgument, "[B5106] all_gather: the tensor for all has another size");
        if (mine->bytes != 0) std::memcpy(all->data, mine->data, mine->bytes);
      },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        check_number(*mine);
        check_number(*all);
        ranks.call(hook, call, "all_gather", &belay_cluster_api::all_gather, mine, all);
      });
}
std::int32_t hook_send(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                       belay_status* status) {
  return call_ranks(
      host, given, status, [](const belay_collective& call) { fail_no_other(call); },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        check_number(*tensor);
        ranks.call(hook, call, "send", &belay_cluster_api::send, tensor);
      });
}
std::int32_t hook_receive(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                          belay_status* status) {
  return call_ranks(
      host, given, status, [](const belay_collective& call) { fail_no_other(call); },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        check_number(*tensor);
        ranks.call(hook, call, "receive", &belay_cluster_api::receive, tensor);
      });
}
std::int32_t hook_split(belay_host* host, const belay_collective* given, std::int32_t colour, belay_ranks** group,
                        std::int32_t* rank, std::int32_t* size, belay_status* status) {
  return call_ranks(
      host, given, status,
      [&](const belay_collective&) {
        *group = nullptr;
        *rank = colour < 0 ? -1 : 0;
        *size = colour < 0 ? 0 : 1;
      },
      [&](HookRanks& ranks, const InstanceHost& hook, const belay_collective& call) {
        ranks.split(hook, call, colour, group, rank, size);
      });
}

constexpr belay_cluster_service kRanksService{sizeof(belay_cluster_service),
                                              0,
                                              checked<place_of_rank, detail::name_of_cluster_place>,
                                              checked<hook_barrier, detail::name_of_cluster_barrier>,
                                              checked<hook_broadcast, detail::name_of_cluster_broadcast>,
                                              checked<hook_all_reduce, detail::name_of_cluster_all_reduce>,
                                              checked<hook_all_gather, detail::name_of_cluster_all_gather>,
                                              checked<hook_send, detail::name_of_cluster_send>,
                                              checked<hook_receive, detail::name_of_cluster_receive>,
                                              checked<hook_split, detail::name_of_cluster_split>};

}  // namespace

const belay_cluster_service* ranks_service() noexcept { return &kRanksService; }

}  // namespace belay::runtime
