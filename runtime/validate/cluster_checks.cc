// SPDX-License-Identifier: Apache-2.0
// Checks a cluster with a group of one. If its library joins ranks inside a process, also with two.
#include <fmt/core.h>

#include <array>
#include <cstring>

#include "belay/testing/testing.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace cluster_cases {

using belay::testing::ClusterCall;
using belay::testing::ClusterDriver;
using belay::testing::ClusterRank;

constexpr double kSeconds = 5;  // limit for two threads of one process to meet

std::vector<std::string> run(const Subject& subject, int size, const std::function<void(ClusterRank&)>& f) {
  using belay::testing::find_table;
  ClusterDriver cluster(find_table<belay_cluster_api>(subject.module, subject.info.name), size, subject.options());
  return cluster.run([&](ClusterRank& rank) {
    rank.wait(kSeconds);
    rank.timeout(kSeconds);
    f(rank);
  });
}

void must_run(const Subject& subject, int size, const std::string& what, const std::function<void(ClusterRank&)>& f) {
  const std::vector<std::string> errors = run(subject, size, f);
  for (std::size_t r = 0; r < errors.size(); ++r)
    if (!errors[r].empty()) throw CheckFailed(fmt::format("{}, rank {}: {}", what, r, errors[r]));
}

template <class T>
void expect(const std::string& what, const Tensor& got, const std::vector<T>& wanted) {
  const TensorView view(got.view());
  if (view.size() != wanted.size() || std::memcmp(view.data(), wanted.data(), view.bytes()) != 0)
    throw CheckFailed(what + " left other values than it should");
}

// Makes each call with different values on each rank.
void calls(ClusterRank& rank) {
  const int n = rank.size(), r = rank.rank();
  Tensor floats(Dims{3}, {1.0F + static_cast<float>(r), 2.0F, -4.0F});
  rank.all_reduce(floats);
  expect<float>("all_reduce of float32", floats,
                {static_cast<float>(n * (n + 1)) / 2, 2.0F * static_cast<float>(n), -4.0F * static_cast<float>(n)});
  Tensor doubles(Dims{1}, {0.5});
  rank.all_reduce(doubles, {.tag = 1});
  expect<double>("all_reduce of float64", doubles, {0.5 * n});
  Tensor whole(Dims{2}, {std::int64_t{1} << 40, std::int64_t{r}});
  rank.all_reduce(whole, {.tag = BELAY_CLUSTER_TAGS - 1});
  expect<std::int64_t>("all_reduce of int64", whole, {n * (std::int64_t{1} << 40), std::int64_t{n} * (n - 1) / 2});
  Tensor rough(Dims{2}, {1.0F, 0.5F});
  rank.all_reduce(rough, {.wire = DType::kBFloat16});
  expect<float>("all_reduce in bf16 of values that bf16 holds", rough,
                {static_cast<float>(n), 0.5F * static_cast<float>(n)});
  Tensor sent(Dims{1}, {std::uint8_t(r + 7)});
  rank.broadcast(sent, {.peer = n - 1});
  expect<std::uint8_t>("broadcast", sent, {std::uint8_t(n + 6)});
  const Tensor mine(Dims{1}, {std::int32_t{r}});
  Tensor all(DType::kInt32, {n});
  rank.all_gather(mine, all);
  std::vector<std::int32_t> ranks;
  for (int i = 0; i < n; ++i) ranks.push_back(i);
  expect<std::int32_t>("all_gather", all, ranks);
  rank.all_reduce(Tensor(DType::kFloat32, {0}));
  rank.barrier();
}

void alone(const Subject& subject) {
  must_run(subject, 1, "a group of one", [](ClusterRank& rank) {
    const ClusterPlace place = rank.open();
    if (place.rank != 0 || place.size != 1) throw CheckFailed("open did not return rank 0 of 1");
    calls(rank);
    rank.close();
  });
}

// A library that only knows processes of a launcher (MPI) may refuse.
void two(const Subject& subject) {
  const std::vector<std::string> met = run(subject, 2, [](ClusterRank& rank) {
    rank.open();
    rank.barrier();
    rank.close();
  });
  for (const std::string& error : met) {
    if (error.starts_with("UNAVAILABLE: ") || error.starts_with("UNIMPLEMENTED: "))
      throw CheckSkipped("it joins no ranks inside one process: " + error);
    if (!error.empty()) throw CheckFailed("two ranks do not meet: " + error);
  }
  must_run(subject, 2, "two ranks", [](ClusterRank& rank) {
    const ClusterPlace place = rank.open(1);
    if (place.rank != rank.rank() || place.size != 2 || place.generation != 1)
      throw CheckFailed("open returned another place than the rank's in generation 1");
    calls(rank);
    const Subgroup own = rank.split(rank.rank());
    if (own.rank != 0 || own.size != 1) throw CheckFailed("split by rank did not make groups of one");
    Tensor one(1.0F);
    rank.all_reduce(one, {.ranks = own.ranks});
    expect<float>("all_reduce in a group of one", one, {1.0F});
    Tensor message(Dims{2}, {std::int64_t{rank.rank()}, std::int64_t{5}});
    if (rank.rank() == 0) {
      rank.send(message, {.tag = 3, .peer = 1});
    } else {
      rank.receive(message, {.tag = 3, .peer = 0});
      expect<std::int64_t>("receive", message, {0, 5});
    }
    rank.barrier();
    rank.close();
  });
}

void wrong_calls(const Subject& subject) {
  const auto refused = [&](const std::string& what, const ClusterCall& call, const Tensor& tensor) {
    const std::vector<std::string> errors = run(subject, 1, [&](ClusterRank& rank) {
      rank.open();
      rank.all_reduce(tensor, call);
    });
    if (!errors[0].starts_with("INVALID_ARGUMENT: "))
      throw CheckFailed(what + " is not refused with INVALID_ARGUMENT" +
                        (errors[0].empty() ? "" : ", but: " + errors[0]));
  };
  refused("a tag that is not below BELAY_CLUSTER_TAGS", {.tag = BELAY_CLUSTER_TAGS}, Tensor(1.0F));
  refused("the sum of int32", {}, Tensor(std::int32_t{1}));
  refused("bf16 on the way of float64", {.wire = DType::kBFloat16}, Tensor(1.0));
}

}  // namespace cluster_cases

std::vector<Check> cluster_checks() {
  using namespace cluster_cases;
  return {{"drive.alone", alone}, {"drive.two", two}, {"drive.wrong_calls", wrong_calls}};
}

}  // namespace belay::runtime
