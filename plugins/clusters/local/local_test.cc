// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

extern "C" const belay_module belay_module_local;

namespace local_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_local); }

std::vector<std::string> none(int ranks) { return std::vector<std::string>(static_cast<std::size_t>(ranks)); }

TEST(Local, AProcessByItselfIsAGroupOfOne) {
  ClusterDriver cluster(module(), 1);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    const belay::ClusterPlace place = rank.open();
    EXPECT_EQ(place.size, 1);
    Tensor sum(2.5F);
    rank.all_reduce(sum);
    EXPECT_EQ(sum.data<float>()[0], 2.5F);
    rank.close();
  }),
            none(1));
}

TEST(Local, TheSumIsTakenInTheOrderOfTheRanksWhoeverComesFirst) {
  for (int round = 0; round < 20; ++round) {
    ClusterDriver cluster(module(), 3);
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) {
      rank.open(round);
      if ((rank.rank() + round) % 3 == 0) std::this_thread::yield();
      // In float32, 1e8 + 1 - 1e8 is 0 in this order and 1 in another one.
      const float part[] = {1e8F, 1.0F, -1e8F};
      Tensor sum(part[rank.rank()]);
      rank.all_reduce(sum);
      EXPECT_EQ(sum.data<float>()[0], 0.0F);
      rank.barrier();
      rank.close();
    }),
              none(3));
  }
}

TEST(Local, CallsOfTwoTagsMeetInAnyOrder) {
  ClusterDriver cluster(module(), 2);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    Tensor a(std::int64_t{1}), b(std::int64_t{10});
    // Each rank begins with another tensor.
    std::thread first([&] { rank.all_reduce(rank.rank() == 0 ? a : b, {.tag = rank.rank() == 0 ? 1U : 2U}); });
    rank.all_reduce(rank.rank() == 0 ? b : a, {.tag = rank.rank() == 0 ? 2U : 1U});
    first.join();
    EXPECT_EQ(a.data<std::int64_t>()[0], 2);
    EXPECT_EQ(b.data<std::int64_t>()[0], 20);
    rank.barrier();
    rank.close();
  }),
            none(2));
}

TEST(Local, GroupsByColourAreInTheOrderOfTheirRanks) {
  ClusterDriver cluster(module(), 4);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    const belay::Subgroup half = rank.split(rank.rank() % 2);
    EXPECT_EQ(half.rank, rank.rank() / 2);
    EXPECT_EQ(half.size, 2);
    Tensor from(std::int32_t{rank.rank()});
    rank.broadcast(from, {.ranks = half.ranks, .peer = 1});
    EXPECT_EQ(from.data<std::int32_t>()[0], rank.rank() % 2 + 2);
    EXPECT_EQ(rank.split(rank.rank() == 3 ? -1 : 0).size, rank.rank() == 3 ? 0 : 3);
    rank.barrier();
    rank.close();
  }),
            none(4));
}

TEST(Local, ARankThatLeavesIsNamed) {
  ClusterDriver cluster(module(), 2);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    rank.open();
    if (rank.rank() == 1) return rank.close();
    rank.barrier();
  });
  EXPECT_EQ(errors[0], "ABORTED: rank 1 has ended or left");
  EXPECT_EQ(errors[1], "");
}

TEST(Local, ARankThatDoesNotComeIsNamed) {
  ClusterDriver cluster(module(), 2);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    if (rank.rank() == 1) return;
    rank.wait(0.05);
    rank.open();
  });
  EXPECT_EQ(errors[0], "UNAVAILABLE: rank 1 of 2 is not in this process: it did not come");
}

TEST(Local, DifferentCallsAreRefusedOnAllRanks) {
  ClusterDriver cluster(module(), 2);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    rank.open();
    rank.all_reduce(Tensor(DType::kFloat32, {rank.rank() + 1}));
  });
  const std::string expected =
      "INVALID_ARGUMENT: rank 1 calls all_reduce of float32, 8 bytes, rank 0 all_reduce of float32, 4 bytes";
  EXPECT_EQ(errors, (std::vector<std::string>{expected, expected}));
}

TEST(Local, AbortWakesARankThatWaits) {
  ClusterDriver cluster(module(), 2);
  std::atomic<bool> aborted{false};
  const std::vector<std::string> errors = cluster.run([&](ClusterRank& rank) {
    rank.open();
    if (rank.rank() == 1) {
      while (!aborted) std::this_thread::yield();
      return;
    }
    std::thread other([&] { rank.abort(); });
    try {
      rank.barrier();
    } catch (...) {
      other.join();
      aborted = true;
      throw;
    }
  });
  EXPECT_EQ(errors[0], "CANCELLED: the run was stopped while it waited for other ranks");
}

TEST(Local, BFloat16OnTheWayIsTheSameOnAllRanks) {
  ClusterDriver cluster(module(), 2);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    Tensor sum(1.0F + 0x1p-8F);  // a tie; it is rounded to the even 1
    rank.all_reduce(sum, {.wire = DType::kBFloat16});
    EXPECT_EQ(sum.data<float>()[0], 2.0F);
    rank.barrier();
    rank.close();
  }),
            none(2));
}

}  // namespace local_test
