// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/ranks_service.h"

#include <cstring>
#include <string>

#include "runtime/loader/host.h"

namespace belay::runtime {
namespace {

using detail::guard;

// Checks a call, and lets `f` do what it does in a group of one.
template <class F>
std::int32_t call_alone(belay_host* host, const belay_collective* given, belay_status* status, F&& f) {
  return guard(status, [&] {
    belay_collective room;
    const belay_collective& call = detail::read_sized(given, room);
    const InstanceHost& instance = InstanceHost::from(host);
    if (call.tag >= BELAY_CLUSTER_TAGS)
      fail(Code::kInvalidArgument,
           "tag " + std::to_string(call.tag) + " is not below " + std::to_string(BELAY_CLUSTER_TAGS));
    if (instance.services().ranks() > 1)
      fail(Code::kFailedPrecondition, "\"" + instance.name() + "\" runs on rank 0 alone, and calls the other " +
                                          std::to_string(instance.services().ranks() - 1) +
                                          ", where it is not: use rank() and ranks() of its host to ask first");
    f(call);
  });
}

void check_number(const belay_tensor& tensor) {
  detail::check_tensor(tensor);
  if (tensor.dtype == BELAY_STRING) fail(Code::kInvalidArgument, "ranks exchange numbers, not strings");
}

[[noreturn]] void fail_no_other(const belay_collective& call) {
  fail(Code::kInvalidArgument, "there is no other rank " + std::to_string(call.peer) + " in a group of 1");
}

std::int32_t place_of_rank(belay_host* host, belay_cluster_place* place, belay_status* status) {
  return guard(status, [&] {
    const HostServices& services = InstanceHost::from(host).services();
    auto ours = detail::sized<belay_cluster_place>();
    ours.rank = services.rank();
    ours.size = services.ranks();
    detail::fill_sized(place, ours);
  });
}
std::int32_t barrier_alone(belay_host* host, const belay_collective* given, belay_status* status) {
  return call_alone(host, given, status, [](const belay_collective&) {});
}
std::int32_t broadcast_alone(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                             belay_status* status) {
  return call_alone(host, given, status, [&](const belay_collective& call) {
    check_number(*tensor);
    if (call.peer != 0) fail_no_other(call);
  });
}
std::int32_t all_reduce_alone(belay_host* host, const belay_collective* given, const belay_tensor* tensor,
                              belay_status* status) {
  return call_alone(host, given, status, [&](const belay_collective&) {
    check_number(*tensor);
    if (tensor->dtype != BELAY_FLOAT32 && tensor->dtype != BELAY_FLOAT64 && tensor->dtype != BELAY_INT64)
      fail(Code::kInvalidArgument, "all_reduce takes float32, float64 and int64");
  });
}
std::int32_t all_gather_alone(belay_host* host, const belay_collective* given, const belay_tensor* mine,
                              const belay_tensor* all, belay_status* status) {
  return call_alone(host, given, status, [&](const belay_collective&) {
    check_number(*mine);
    check_number(*all);
    if (all->dtype != mine->dtype || all->bytes != mine->bytes)
      fail(Code::kInvalidArgument, "all_gather: the tensor for all has another size");
    if (mine->bytes != 0) std::memcpy(all->data, mine->data, mine->bytes);
  });
}
std::int32_t send_alone(belay_host* host, const belay_collective* given, const belay_tensor*, belay_status* status) {
  return call_alone(host, given, status, [](const belay_collective& call) { fail_no_other(call); });
}
std::int32_t split_alone(belay_host* host, const belay_collective* given, std::int32_t colour, belay_ranks** ranks,
                         std::int32_t* rank, std::int32_t* size, belay_status* status) {
  return call_alone(host, given, status, [&](const belay_collective&) {
    *ranks = nullptr;
    *rank = colour < 0 ? -1 : 0;
    *size = colour < 0 ? 0 : 1;
  });
}

constexpr belay_cluster_service kRanksService{sizeof(belay_cluster_service),
                                              0,
                                              &place_of_rank,
                                              &barrier_alone,
                                              &broadcast_alone,
                                              &all_reduce_alone,
                                              &all_gather_alone,
                                              &send_alone,
                                              &send_alone,
                                              &split_alone};

}  // namespace

const belay_cluster_service* ranks_service() noexcept { return &kRanksService; }

}  // namespace belay::runtime
