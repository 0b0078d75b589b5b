// SPDX-License-Identifier: Apache-2.0
// The callbacks of a Cluster's class, a part of thunks.h.
#pragma once

#include <cstdint>
#include <string>

#include "belay/cluster.h"
#include "belay/detail/check_class.h"
#include "belay/detail/sized.h"
#include "belay/detail/tables.h"
#include "belay/error.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {
namespace detail {

template <class T>
struct Thunks;

template <class T>
struct ClusterThunks {
  static T& object(void* self) noexcept { return Thunks<T>::object(self); }

  static std::int32_t open(void* self, const belay_cluster_args* args, belay_cluster_place* place,
                           belay_status* status) noexcept {
    return guard(status, [&] {
      belay_cluster_args room;
      const ClusterPlace found = object(self).open(ClusterArgs(read_sized(args, room)));
      auto ours = sized<belay_cluster_place>();
      ours.rank = found.rank, ours.size = found.size, ours.local_rank = found.local_rank;
      ours.generation = found.generation;
      fill_sized(place, ours);
    });
  }
  static std::int32_t close(void* self, belay_status* status) noexcept {
    return guard(status, [&] { object(self).close(); });
  }
  static void abort(void* self) noexcept {
    try {
      object(self).abort();
    } catch (...) {  // the calls end with their timeout; no exception may pass
    }
  }
  static Collective collective(const belay_collective* call) {
    belay_collective room;
    const Collective c(read_sized(call, room));
    if (c.tag() >= BELAY_CLUSTER_TAGS)
      fail(Code::kInvalidArgument,
           "tag " + std::to_string(c.tag()) + " is not below " + std::to_string(BELAY_CLUSTER_TAGS));
    return c;
  }
  static void check_sum(const Collective& call, const TensorView& tensor) {
    const DType dtype = tensor.dtype();
    if (dtype != DType::kFloat32 && dtype != DType::kFloat64 && dtype != DType::kInt64)
      fail(Code::kInvalidArgument, std::string("all_reduce adds float32, float64 and int64, not ") + dtype_name(dtype));
    if (call.wire() != DType::kInvalid && (call.wire() != DType::kBFloat16 || dtype != DType::kFloat32))
      fail(Code::kInvalidArgument, std::string("a sum of ") + dtype_name(dtype) + " cannot travel as " +
                                       dtype_name(call.wire()) + ": float32 as bfloat16 can");
  }
  static TensorView numbers(const belay_tensor* tensor) {
    if (tensor == nullptr) fail(Code::kInvalidArgument, "the tensor is null");
    check_tensor(*tensor);
    if (tensor->dtype == BELAY_STRING) fail(Code::kInvalidArgument, "strings do not travel between ranks");
    return TensorView(*tensor);
  }
  static std::int32_t barrier(void* self, const belay_collective* call, belay_status* status) noexcept {
    return guard(status, [&] { object(self).barrier(collective(call)); });
  }
  static std::int32_t broadcast(void* self, const belay_collective* call, const belay_tensor* tensor,
                                belay_status* status) noexcept {
    return guard(status, [&] { object(self).broadcast(collective(call), numbers(tensor)); });
  }
  static std::int32_t all_reduce(void* self, const belay_collective* call, const belay_tensor* tensor,
                                 belay_status* status) noexcept {
    return guard(status, [&] {
      const Collective c = collective(call);
      const TensorView sum = numbers(tensor);
      check_sum(c, sum);
      object(self).all_reduce(c, sum);
    });
  }
  static std::int32_t all_gather(void* self, const belay_collective* call, const belay_tensor* mine,
                                 const belay_tensor* all, belay_status* status) noexcept {
    return guard(status, [&] { object(self).all_gather(collective(call), numbers(mine), numbers(all)); });
  }
  static std::int32_t send(void* self, const belay_collective* call, const belay_tensor* tensor,
                           belay_status* status) noexcept {
    return guard(status, [&] { object(self).send(collective(call), numbers(tensor)); });
  }
  static std::int32_t receive(void* self, const belay_collective* call, const belay_tensor* tensor,
                              belay_status* status) noexcept {
    return guard(status, [&] { object(self).receive(collective(call), numbers(tensor)); });
  }
  static std::int32_t split(void* self, const belay_collective* call, std::int32_t colour, belay_ranks** ranks,
                            std::int32_t* rank, std::int32_t* size, belay_status* status) noexcept {
    return guard(status, [&] {
      const Subgroup made = object(self).split(collective(call), colour);
      *ranks = made.ranks, *rank = made.rank, *size = made.size;
    });
  }
};

template <class T>
constexpr belay_cluster_api cluster_table(const void* (*extension)(void*, belay_str)) {
  using H = ClusterThunks<T>;
  belay_cluster_api t{};
  t.struct_size = sizeof(t);
  t.create = Thunks<T>::create;
  t.destroy = Thunks<T>::destroy;
  t.extension = extension;
  t.open = H::open;
  if constexpr (overrides_Cluster_close<T>()) t.close = H::close;
  if constexpr (overrides_Cluster_abort<T>()) t.abort = H::abort;
  t.barrier = H::barrier;
  t.broadcast = H::broadcast;
  t.all_reduce = H::all_reduce;
  t.all_gather = H::all_gather;
  t.send = H::send;
  t.receive = H::receive;
  t.split = H::split;
  return t;
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
