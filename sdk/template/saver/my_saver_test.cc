// Drives the saver without an engine, on files in memory. It runs twice: with the saver linked in, and with the .so.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

extern "C" const belay_module belay_module_my_saver;

namespace {

using namespace belay::testing;
using belay::Dims;
using belay::Tensor;

const belay_module& module() { return module_under_test(belay_module_my_saver); }

NamedTensors some_tensors() {
  return {{"dense/kernel", Tensor({2, 3}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})},
          {"global_step", Tensor(std::int64_t{7})},
          {"empty", Tensor(belay::DType::kFloat32, {0, 4})}};
}

TEST(MySaver, WhatItWritesComesBackBitForBit) {
  SaverDriver saver(module());
  EXPECT_EQ(saver.difference_after_round_trip(some_tensors()), "");
  EXPECT_EQ(saver.difference_after_round_trip({}), "");
}

TEST(MySaver, ReadsOnlyWhatIsWanted) {
  SaverDriver saver(module());
  saver.write(some_tensors());
  const NamedTensors found = saver.read(std::set<std::string>{"global_step"});
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(belay::TensorView(found[0].second.view()).scalar<std::int64_t>(), 7);
  EXPECT_EQ(saver.announced().size(), 3u);
}

TEST(MySaver, FindsEveryCut) {
  SaverDriver saver(module());
  saver.write(some_tensors());
  EXPECT_EQ(saver.undetected_truncation("variables.bin"), "");
}

TEST(MySaver, RefusesAForeignFile) {
  SaverDriver saver(module());
  saver.files().contents["variables.bin"] = "something else altogether";
  EXPECT_EQ(error_of([&] { saver.read(); }), "DATA_LOSS: variables.bin does not begin as a file of my_saver does");
}

TEST(MySaver, AFullDiskIsAnError) {
  SaverDriver saver(module());
  saver.files().fill_up_after(20);
  EXPECT_THROW(saver.write(some_tensors()), belay::Error);
}

}  // namespace
