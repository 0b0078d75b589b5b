// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/fake_checkpoints.h"

#include <gtest/gtest.h>

#include "belay/tensor_text.h"
#include "belay/testing/error_of.h"

namespace {

using belay::Checkpoint;
using belay::Dims;
using belay::Tensor;
using belay::testing::error_of;
using belay::testing::FakeCheckpoints;
using belay::testing::FakeHost;

struct CheckpointsFixture {
  FakeHost host;
  FakeCheckpoints fake{host};
  belay::Host services{host.api(), host.raw()};
};

TEST(FakeCheckpoints, AreListedByNameAndRead) {
  CheckpointsFixture f;
  f.fake.add("runs/a/model.ckpt-1", {{"w", Tensor({2}, {1.f, 2.f})}, {"b", Tensor(std::int64_t{7})}});
  {
    const Checkpoint c(f.services, "runs/a/model.ckpt-1");
    ASSERT_EQ(c.entries().size(), 2u);
    EXPECT_EQ(c.entries()[0].name, "b");
    EXPECT_EQ(c.find("w")->dims, Dims{2});
    EXPECT_EQ(c.find("x"), nullptr);
    EXPECT_EQ(belay::tensor_text(c.read("w")), "[1, 2]");
    EXPECT_EQ(error_of([&] { c.read("x"); }), "NOT_FOUND: the checkpoint has no tensor 'x'");
    EXPECT_EQ(f.fake.open_count(), 1u);
  }
  EXPECT_EQ(f.fake.open_count(), 0u);
}

TEST(FakeCheckpoints, ADirectoryStandsForTheNewest) {
  CheckpointsFixture f;
  f.fake.add("runs/a/model.ckpt-1", {{"w", Tensor(1.f)}});
  f.fake.add("runs/a/model.ckpt-2", {{"w", Tensor(2.f)}});
  f.fake.add("runs/ab/model.ckpt-3", {{"w", Tensor(3.f)}});
  EXPECT_EQ(belay::latest_checkpoint(f.services, "runs/a"), "runs/a/model.ckpt-2");
  EXPECT_EQ(belay::latest_checkpoint(f.services, "runs/b"), "");
  EXPECT_EQ(belay::tensor_text(Checkpoint(f.services, "runs/a").read("w")), "2");
}

TEST(FakeCheckpoints, MissingAndDamagedOnesFail) {
  CheckpointsFixture f;
  f.fake.add_damaged("runs/a", belay::Error(belay::Code::kDataLoss, "torn"));
  EXPECT_EQ(error_of([&] { Checkpoint(f.services, "runs/a"); }), "DATA_LOSS: torn");
  EXPECT_EQ(error_of([&] { Checkpoint(f.services, "runs/b"); }), "NOT_FOUND: no checkpoint at 'runs/b'");
}

TEST(FakeCheckpoints, RequestsAreCounted) {
  CheckpointsFixture f;
  belay::save_checkpoint(f.services);
  belay::save_checkpoint(f.services);
  EXPECT_EQ(f.fake.save_requests(), 2);
}

TEST(FakeCheckpoints, ReadsOfTheWrongSizeAreRefused) {
  CheckpointsFixture f;
  f.fake.add("c", {{"w", Tensor({2}, {1.f, 2.f})}});
  const belay_checkpoint_api& api = f.services.services().checkpoint;
  belay::detail::Status status;
  belay_checkpoint* opened = nullptr;
  ASSERT_EQ(api.open(f.host.raw(), belay::detail::str("c"), &opened, status), BELAY_OK);
  float out[2] = {};
  EXPECT_EQ(api.read(opened, 0, out, 4, status), BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "'w' has 8 bytes, 4 were asked for");
  EXPECT_EQ(api.read(opened, 1, out, 8, status), BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "the checkpoint has 1 tensors, there is no tensor 1");
  api.close(opened);
  EXPECT_EQ(api.read(opened, 0, out, 8, status), BELAY_FAILED_PRECONDITION);
  api.close(opened);
  EXPECT_EQ(f.host.breaches(),
            (std::vector<std::string>{"a checkpoint was used after it was closed", "a checkpoint was closed twice"}));
}

}  // namespace
