// SPDX-License-Identifier: Apache-2.0
#include "belay/detail/sized.h"

#include <gtest/gtest.h>

#include <array>
#include <cstring>

#include "belay/tensor.h"
#include "belay/testing/error_of.h"

namespace {

using belay::Code;
using belay::DType;
using belay::detail::check_sized;
using belay::detail::check_tensor;
using belay::detail::fill_sized;
using belay::detail::raw_tensor;
using belay::detail::read_sized;
using belay::detail::sized;
using belay::testing::error_of;

// As a header of an earlier minor had it: without `timeout_ms`.
belay_run_options shorter() {
  auto options = sized<belay_run_options>();
  options.trace_level = BELAY_TRACE_FULL;
  options.timeout_ms = 77;  // beyond what its owner knows
  options.struct_size = offsetof(belay_run_options, timeout_ms);
  return options;
}

TEST(Sized, B_01a_AFieldBeyondTheOwnersSizeIsZero) {
  const belay_run_options theirs = shorter();
  belay_run_options room;
  const belay_run_options& read = read_sized(&theirs, room);
  EXPECT_EQ(read.trace_level, BELAY_TRACE_FULL);
  EXPECT_EQ(read.timeout_ms, 0);
}

TEST(Sized, B_01a_AStructOfALaterHeaderIsReadWhereItIs) {
  struct {
    belay_run_options known;
    std::int64_t later;
  } theirs{sized<belay_run_options>(), 5};
  theirs.known.struct_size = sizeof(theirs);
  belay_run_options room;
  EXPECT_EQ(&read_sized(&theirs.known, room), &theirs.known);
}

TEST(Sized, B_01a_NothingIsWrittenBeyondTheOwnersSize) {
  belay_run_options theirs = shorter();
  auto ours = sized<belay_run_options>();
  ours.trace_level = BELAY_TRACE_SOFTWARE;
  ours.timeout_ms = 1000;
  fill_sized(&theirs, ours);
  EXPECT_EQ(theirs.trace_level, BELAY_TRACE_SOFTWARE);
  EXPECT_EQ(theirs.timeout_ms, 77);
  EXPECT_EQ(theirs.struct_size, offsetof(belay_run_options, timeout_ms));
}

TEST(Sized, B_01b_AStructWithoutItsSizeIsRefusedAndNamesTheMacro) {
  const belay_node_info nothing{};
  belay_node_info room, none{};
  const char* expected =
      "INVALID_ARGUMENT: belay_node_info has struct_size 0: its owner sets it before the call (BELAY_INIT), and "
      "nothing "
      "changes it in the call";
  EXPECT_EQ(error_of([&] { read_sized(&nothing, room); }), expected);
  EXPECT_EQ(error_of([&] { fill_sized(&none, sized<belay_node_info>()); }), expected);
  EXPECT_EQ(error_of([&] { check_sized(none); }), expected);
  EXPECT_EQ(error_of([&] { read_sized(static_cast<const belay_node_info*>(nullptr), room); }),
            "INVALID_ARGUMENT: belay_node_info is null");
}

TEST(Sized, B_01c_FlagsThatThisSideDoesNotKnowAreRefused) {
  auto args = sized<belay_run_args>();
  args.flags = 6;
  belay_run_args room;
  const char* expected = "UNIMPLEMENTED: belay_run_args has the unknown flag 6; this side was built before it";
  EXPECT_EQ(error_of([&] { read_sized(&args, room); }), expected);
  EXPECT_EQ(error_of([&] { check_sized(args); }), expected);
  EXPECT_EQ(error_of([&] { read_sized(&args, room, 6); }), "");
}

TEST(Sized, B_01d_TheMacroForCZeroesAllButTheSize) {
  belay_saved saved;
  std::memset(&saved, 0xff, sizeof(saved));
  BELAY_INIT(saved);
  EXPECT_EQ(saved.struct_size, sizeof(saved));
  EXPECT_EQ(saved.flags, 0u);
  EXPECT_EQ(saved.path.data, nullptr);
  EXPECT_EQ(saved.stop, 0);
}

class Tensors : public ::testing::Test {
 protected:
  std::array<std::int64_t, 2> dims_{2, 3};
  std::array<float, 6> elements_{};
  belay_tensor tensor_ = raw_tensor(DType::kFloat32, 2, dims_.data(), elements_.data(), sizeof(elements_));
  std::string error() const {
    return error_of([&] { check_tensor(tensor_); });
  }
};

TEST_F(Tensors, B_02a_OneWhoseFieldsFitIsTaken) {
  EXPECT_EQ(sizeof(belay_tensor), 40u);
  EXPECT_EQ(error(), "");
  const float scalar = 1;
  tensor_ = raw_tensor(DType::kFloat32, 0, nullptr, const_cast<float*>(&scalar), sizeof(scalar));
  EXPECT_EQ(error(), "");
}

TEST_F(Tensors, B_02a_WithoutElementsThereIsNoMemory) {
  dims_ = {0, 3};
  tensor_ = raw_tensor(DType::kFloat32, 2, dims_.data(), elements_.data(), 0);
  EXPECT_EQ(tensor_.data, nullptr);
  EXPECT_EQ(tensor_.bytes, 0u);
  EXPECT_EQ(error(), "");
}

TEST_F(Tensors, B_02b_AnUnknownDeviceOrFlagIsRefused) {
  tensor_.device = 1;
  EXPECT_EQ(error(), "UNIMPLEMENTED: the tensor lies on device 1; this side only reads the host's memory (device 0)");
  tensor_.device = BELAY_DEVICE_HOST;
  tensor_.flags = BELAY_TENSOR_READ_ONLY;
  EXPECT_EQ(error(), "");
  tensor_.flags |= 4;
  EXPECT_EQ(error(), "UNIMPLEMENTED: the tensor has the unknown flag 4; this side was built before it");
}

TEST_F(Tensors, B_02c_FieldsThatContradictEachOtherAreNamed) {
  const belay_tensor good = tensor_;
  tensor_.bytes = 20;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has bytes = 20, a float32 tensor of [2, 3] has 24");
  tensor_ = good, tensor_.data = nullptr;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has no elements (data is null)");
  tensor_ = good, tensor_.dims = nullptr;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has no dimensions (dims is null)");
  tensor_ = good, tensor_.rank = 65;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has rank 65");
  tensor_ = good, tensor_.dtype = 98;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has the unknown dtype 98");
  tensor_ = good, dims_[1] = -1;
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has the dimension -1 on axis 1");
  dims_ = {std::int64_t{1} << 62, 16};
  EXPECT_EQ(error(), "INVALID_ARGUMENT: the tensor has more bytes than can be counted: [4611686018427387904, 16]");
}

TEST_F(Tensors, ARowIsAPartOfTheSameMemory) {
  const belay::TensorView row = belay::TensorView(tensor_).row(1);
  EXPECT_EQ(row.dims(), belay::Dims{3});
  EXPECT_EQ(row.data<const float>(), elements_.data() + 3);
  EXPECT_EQ(error_of([&] { check_tensor(row.raw()); }), "");
}

}  // namespace
