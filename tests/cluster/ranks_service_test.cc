// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/ranks_service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "belay/testing/error_of.h"
#include "runtime/loader/instance/host.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::HasSubstr;

class RanksServiceTest : public ::testing::Test {
 protected:
  // A host asks for its services when it is made.
  struct Services : HostServices {
    Services(Logger& logger, Clock& clock) : HostServices(logger, clock, "", 0) { add("cluster", ranks_service()); }
  };
  RecordingLogger logger;
  FakeClock clock;
  Services services{logger, clock};
  InstanceHost instance{services, "slowest"};
  const belay::Host host{InstanceHost::api(), instance.raw()};
  const Ranks ranks{host};
};

TEST_F(RanksServiceTest, AProcessByItselfIsAGroupOfOne) {
  EXPECT_EQ(ranks.place().size, 1);
  EXPECT_EQ(ranks.place().rank, 0);
  Tensor sum(2.5F);
  ranks.all_reduce(sum);
  EXPECT_EQ(sum.data<float>()[0], 2.5F);
  ranks.broadcast(sum);
  ranks.barrier(7);
  Tensor all = ranks.all_gather(Tensor(Dims{2}, {1.F, 2.F}));
  EXPECT_EQ(all.dims(), (Dims{1, 2}));
  EXPECT_EQ(all.data<float>()[1], 2);
  EXPECT_EQ(ranks.split(3).group().size, 1);
  EXPECT_EQ(ranks.split(-1).group().size, 0);
}

TEST_F(RanksServiceTest, WhatCannotBeIsRefused) {
  Tensor value(1.F), text(DType::kString, {1}), whole(std::int32_t{1});
  EXPECT_EQ(error_of([&] { ranks.send(value, 1); }),
            "INVALID_ARGUMENT: [B5106] there is no other rank 1 in a group of 1");
  EXPECT_EQ(error_of([&] { ranks.receive(value, 0); }),
            "INVALID_ARGUMENT: [B5106] there is no other rank 0 in a group of 1");
  EXPECT_EQ(error_of([&] { ranks.broadcast(value, 2); }),
            "INVALID_ARGUMENT: [B5106] there is no other rank 2 in a group of 1");
  EXPECT_EQ(error_of([&] { ranks.barrier(BELAY_CLUSTER_TAGS); }),
            "INVALID_ARGUMENT: [B5106] tag 65536 is not below 65536");
  EXPECT_EQ(error_of([&] { ranks.all_reduce(whole); }),
            "INVALID_ARGUMENT: [B5106] all_reduce takes float32, float64 and int64");
  EXPECT_EQ(error_of([&] { ranks.broadcast(text); }), "INVALID_ARGUMENT: [B5106] ranks exchange numbers, not strings");
}

// The others have no hooks, and would not answer.
TEST_F(RanksServiceTest, AmongSeveralItSaysItsPlaceAndRefusesCalls) {
  services.set_place({0, 3, 1, 2});
  EXPECT_EQ(ranks.place().rank, 0);
  EXPECT_EQ(ranks.place().size, 3);
  EXPECT_EQ(ranks.place().local_rank, 1);
  EXPECT_EQ(ranks.place().generation, 2);
  Tensor sum(2.5F);
  EXPECT_THAT(error_of([&] { ranks.all_reduce(sum); }),
              HasSubstr("FAILED_PRECONDITION: [B5106] \"slowest\" runs on rank 0 alone, and calls the other 2"));
}

}  // namespace
}  // namespace belay::runtime
