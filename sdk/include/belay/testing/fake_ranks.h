// SPDX-License-Identifier: Apache-2.0
// Service "cluster": the test acts as the other ranks of a run. By default there are as many ranks as the fake host's
// `ranks`, each with the same values as the plugin:
//
//   host.rank = 0, host.ranks = 2;
//   ranks.calls();                      // "all_reduce float32 [3] tag 0", in their order
//   ranks.fail_with(Error(Code::kAborted, "rank 1 has left"));
#pragma once

#include <cstring>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "belay/cluster.h"
#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeRanks {
 public:
  explicit FakeRanks(FakeHost& host) {
    host.set_service("cluster", &kRanks);
    host.set_context("cluster", this);
  }
  FakeRanks(const FakeRanks&) = delete;
  FakeRanks& operator=(const FakeRanks&) = delete;

  // The plugin's calls, a line each.
  std::vector<std::string> calls() const {
    const std::lock_guard lock(mutex_);
    return calls_;
  }
  // Makes every later call fail with this error, as after the end of another rank.
  void fail_with(const Error& error) { failure_ = error; }

 private:
  static FakeRanks& self(belay_host* raw) { return FakeHost::from(raw).context<FakeRanks>("cluster"); }
  static int size(belay_host* raw) { return FakeHost::from(raw).ranks; }

  // Records the call; `f` does the part of the other ranks.
  template <class F>
  static std::int32_t call(belay_host* raw, const char* name, const belay_collective* given, const belay_tensor* tensor,
                           belay_status* status, F&& f) {
    return detail::guard(status, [&] {
      belay_collective room;
      const belay_collective& c = detail::read_sized(given, room);
      FakeRanks& ranks = self(raw);
      if (ranks.failure_) throw Error(*ranks.failure_);
      if (c.tag >= BELAY_CLUSTER_TAGS)
        fail(Code::kInvalidArgument,
             "tag " + std::to_string(c.tag) + " is not below " + std::to_string(BELAY_CLUSTER_TAGS));
      std::string line = name;
      if (tensor != nullptr) {
        detail::check_tensor(*tensor);
        line += std::string(" ") + dtype_name(static_cast<DType>(tensor->dtype)) + " " +
                dims_text(tensor->dims, tensor->rank);
      }
      {
        const std::lock_guard lock(ranks.mutex_);
        ranks.calls_.push_back(line + " tag " + std::to_string(c.tag));
      }
      f(c);
    });
  }
  template <class T>
  static void multiply(const belay_tensor& tensor, int n) {
    auto* values = static_cast<T*>(tensor.data);
    for (std::uint64_t i = 0; i < tensor.bytes / sizeof(T); ++i)
      values[i] = static_cast<T>(values[i] * static_cast<T>(n));
  }

  static std::int32_t place(belay_host* raw, belay_cluster_place* place, belay_status* status) {
    return detail::guard(status, [&] {
      auto ours = detail::sized<belay_cluster_place>();
      ours.rank = FakeHost::from(raw).rank;
      ours.size = size(raw);
      detail::fill_sized(place, ours);
    });
  }
  static std::int32_t barrier(belay_host* raw, const belay_collective* c, belay_status* status) {
    return call(raw, "barrier", c, nullptr, status, [](const belay_collective&) {});
  }
  static std::int32_t broadcast(belay_host* raw, const belay_collective* c, const belay_tensor* t,
                                belay_status* status) {
    return call(raw, "broadcast", c, t, status, [](const belay_collective&) {});
  }
  static std::int32_t all_reduce(belay_host* raw, const belay_collective* c, const belay_tensor* t,
                                 belay_status* status) {
    return call(raw, "all_reduce", c, t, status, [&](const belay_collective&) {
      switch (t->dtype) {
        case BELAY_FLOAT32: return multiply<float>(*t, size(raw));
        case BELAY_FLOAT64: return multiply<double>(*t, size(raw));
        case BELAY_INT64: return multiply<std::int64_t>(*t, size(raw));
        default: fail(Code::kInvalidArgument, "all_reduce takes float32, float64 and int64");
      }
    });
  }
  static std::int32_t all_gather(belay_host* raw, const belay_collective* c, const belay_tensor* mine,
                                 const belay_tensor* all, belay_status* status) {
    return call(raw, "all_gather", c, mine, status, [&](const belay_collective&) {
      detail::check_tensor(*all);
      const auto n = static_cast<std::uint64_t>(size(raw));
      if (all->bytes != n * mine->bytes)
        fail(Code::kInvalidArgument, "all_gather: the tensor for all has another size");
      for (std::uint64_t r = 0; r < n && mine->bytes != 0; ++r)
        std::memcpy(static_cast<char*>(all->data) + r * mine->bytes, mine->data, mine->bytes);
    });
  }
  static std::int32_t send(belay_host* raw, const belay_collective* c, const belay_tensor* t, belay_status* status) {
    return call(raw, "send", c, t, status, [&](const belay_collective& given) { check_peer(raw, given); });
  }
  static std::int32_t receive(belay_host* raw, const belay_collective* c, const belay_tensor* t, belay_status* status) {
    return call(raw, "receive", c, t, status, [&](const belay_collective& given) { check_peer(raw, given); });
  }
  static void check_peer(belay_host* raw, const belay_collective& c) {
    if (c.peer < 0 || c.peer >= size(raw) || c.peer == FakeHost::from(raw).rank)
      fail(Code::kInvalidArgument, "there is no other rank " + std::to_string(c.peer));
  }
  static std::int32_t split(belay_host* raw, const belay_collective* c, std::int32_t colour, belay_ranks** ranks,
                            std::int32_t* rank, std::int32_t* n, belay_status* status) {
    return call(raw, "split", c, nullptr, status, [&](const belay_collective&) {
      *ranks = nullptr, *rank = colour < 0 ? -1 : FakeHost::from(raw).rank, *n = colour < 0 ? 0 : size(raw);
    });
  }

  static constexpr belay_cluster_service kRanks{sizeof(belay_cluster_service),
                                                0,
                                                &FakeRanks::place,
                                                &FakeRanks::barrier,
                                                &FakeRanks::broadcast,
                                                &FakeRanks::all_reduce,
                                                &FakeRanks::all_gather,
                                                &FakeRanks::send,
                                                &FakeRanks::receive,
                                                &FakeRanks::split};

  mutable std::mutex mutex_;
  std::vector<std::string> calls_;
  std::optional<Error> failure_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
