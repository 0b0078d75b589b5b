// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/variable_store.h"

#include <limits>

#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST(VariableStore, AVariableOfAnotherShapeIsRefusedWithBothShapes) {
  VariableStore store;
  store.find_or_create("w", DType::kFloat32, {2, 3}, true);
  EXPECT_EQ(error_of([&] {
              store.find_or_create("w", DType::kFloat32, {3, 2}, true);
            }),
            "INVALID_ARGUMENT: [B5075] variable 'w' is float32 [3, 2] in this graph, but the store has float32 [2, 3]");
}

TEST(VariableStore, AssignNamesTheNearestVariable) {
  VariableStore store;
  store.find_or_create("dense/kernel", DType::kFloat32, {1}, true);
  EXPECT_EQ(error_of([&] { store.assign("dense/kernl", Tensor({1}, {1.0f})); }),
            "NOT_FOUND: [B5074] there is no variable 'dense/kernl' (did you mean \"dense/kernel\"?)");
  EXPECT_EQ(error_of([&] {
              store.assign("dense/kernel", Tensor({2}, {1.0f, 2.0f}));
            }),
            "INVALID_ARGUMENT: [B5075] variable 'dense/kernel' is float32 [1], the value is float32 [2]");
}

TEST(VariableStore, T_61a_ALookAtItsBeginningFindsNaNAndInfinity) {
  constexpr float kNaN = std::numeric_limits<float>::quiet_NaN(), kInf = std::numeric_limits<float>::infinity();
  VariableStore store;
  const auto finite = [&](DType dtype, std::int64_t n, bool trainable, std::int64_t at, float value) {
    const std::string name = std::to_string(at) + std::to_string(value) + dtype_name(dtype) + std::to_string(n) +
                             (trainable ? "trainable" : "");
    Variable& v = store.find_or_create(name, dtype, {n}, trainable);
    if (dtype == DType::kFloat32 && at < n) v.value.data<float>()[at] = value;
    return v.begins_finite();
  };
  EXPECT_TRUE(finite(DType::kFloat32, 40, true, 0, std::numeric_limits<float>::max()));
  EXPECT_FALSE(finite(DType::kFloat32, 40, true, 0, kNaN));
  EXPECT_FALSE(finite(DType::kFloat32, 40, true, 15, -kInf));
  EXPECT_FALSE(finite(DType::kFloat32, 3, true, 2, kInf));
  EXPECT_TRUE(finite(DType::kFloat32, 40, true, 16, kNaN)) << "behind the beginning";
  EXPECT_TRUE(finite(DType::kFloat32, 40, false, 1, kInf)) << "a mask, say";
  EXPECT_TRUE(finite(DType::kFloat32, 0, true, 0, kNaN));
  EXPECT_TRUE(finite(DType::kInt64, 3, true, 0, 0));
}

TEST(VariableStore, ASnapshotIsACopyWithPositions) {
  VariableStore store;
  Variable& w = store.find_or_create("w", DType::kFloat32, {2}, true);
  store.assign("w", Tensor({2}, {1.0f, 2.0f}));
  *store.position_slot("train") = Position{3, 64};
  Snapshot snapshot;
  store.snapshot({&w}, snapshot);
  store.assign("w", Tensor({2}, {5.0f, 6.0f}));
  EXPECT_EQ(snapshot.values[0].data<float>()[1], 2.0f);
  EXPECT_EQ(snapshot.positions.at("train").index, 64);
  const void* memory = snapshot.values[0].data();
  store.snapshot({&w}, snapshot);
  EXPECT_EQ(snapshot.values[0].data<float>()[1], 6.0f);
  EXPECT_EQ(snapshot.values[0].data(), memory);
}

TEST(VariableStore, MemoryThatWasMadeBeforeIsTheFirstSnapshots) {
  VariableStore store;
  Variable& w = store.find_or_create("w", DType::kFloat32, {2}, true);
  Snapshot snapshot;
  make_room({&w}, snapshot);
  const void* memory = snapshot.values[0].data();
  EXPECT_EQ(snapshot.values[0].data<float>()[1], 0.0f) << "it was written to";
  store.assign("w", Tensor({2}, {1.0f, 2.0f}));
  store.snapshot({&w}, snapshot);
  EXPECT_EQ(snapshot.values[0].data(), memory);
  make_room({&w}, snapshot);
  EXPECT_EQ(snapshot.values[0].data<float>()[1], 2.0f) << "what is there stays";
}

TEST(VariableStore, WhatIsNotInitializedOrDirtyIsNotSnapshot) {
  VariableStore store;
  Variable& w = store.find_or_create("w", DType::kFloat32, {}, true);
  Snapshot snapshot;
  EXPECT_EQ(error_of([&] { store.snapshot({&w}, snapshot); }),
            "FAILED_PRECONDITION: [B5073] variable 'w' is not initialized and cannot be saved");
  store.assign("w", Tensor(1.0f));
  store.mark_dirty("a run failed after it had written variables: boom");
  EXPECT_EQ(
      error_of([&] { store.snapshot({&w}, snapshot); }),
      "FAILED_PRECONDITION: [B5079] the variables are not of one step and cannot be saved: a run failed after it had "
      "written variables: boom");
  store.mark_clean();
  store.snapshot({&w}, snapshot);
}

TEST(StoreTargets, ALocalTargetIsSharedWhileItLives) {
  StoreTargets targets;
  const auto a = targets.open("local:x");
  EXPECT_EQ(targets.open("local:x"), a);
  EXPECT_NE(targets.open("local:y"), a);
  EXPECT_NE(targets.open(""), targets.open(""));
  EXPECT_EQ(
      error_of([&] { targets.open("grpc://host:1"); }),
      "INVALID_ARGUMENT: [B5080] 'grpc://host:1' is no session target: use \"\" (a store for this session alone) or "
      "\"local:NAME\"");
}

}  // namespace
}  // namespace belay::runtime::testing
