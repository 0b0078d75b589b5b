// SPDX-License-Identifier: Apache-2.0
// The status that a run ends with, by what it was doing and the error that ended it.
#include "runtime/api/run_status.h"

#include <gtest/gtest.h>

#include <memory>
#include <vector>

#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/loader/file/load_error.h"

namespace belay::runtime {
namespace {

constexpr RunPart kParts[] = {RunPart::kPlan,       RunPart::kDirectory, RunPart::kPlugins,
                              RunPart::kScaffold,   RunPart::kHooks,     RunPart::kTraining,
                              RunPart::kEvaluation, RunPart::kExport,    RunPart::kMode};

// Returns the status of each part, in that order.
std::vector<int> statuses(const Error& error) {
  std::vector<int> all;
  for (const RunPart part : kParts) all.push_back(static_cast<int>(status_of(part, error)));
  return all;
}

TEST(RunStatusTest, APluginThatIsRefusedEndsEachPartWith3) {
  const LoadError missing(LoadErrorKind::kNotFound, "", "no such hook", "");
  EXPECT_EQ(statuses(missing), std::vector<int>(std::size(kParts), 3));
}

TEST(RunStatusTest, ADirectoryInUseIsHeardOfWhereItIsTakenAndInTheTraining) {
  const RunInUse in_use(Code::kFailedPrecondition, "it is in use");
  EXPECT_EQ(status_of(RunPart::kDirectory, in_use), RunStatus::kInUse);
  EXPECT_EQ(status_of(RunPart::kTraining, in_use), RunStatus::kInUse);
}

TEST(RunStatusTest, WhatACallerNamesWronglyIsUsage) {
  using S = std::vector<int>;
  //                                                     plan dir plugins scaffold hooks training evaluation export mode
  EXPECT_EQ(statuses(Error(Code::kInvalidArgument, "x")), S({2, 2, 2, 2, 1, 1, 1, 1, 2}));
  EXPECT_EQ(statuses(Error(Code::kNotFound, "x")), S({2, 2, 3, 2, 1, 1, 1, 1, 2}));
  EXPECT_EQ(statuses(Error(Code::kOutOfRange, "x")), S({2, 2, 3, 2, 1, 1, 1, 1, 1}));
  EXPECT_EQ(statuses(Error(Code::kPermissionDenied, "x")), S({1, 2, 3, 2, 1, 1, 1, 1, 1}));
}

TEST(RunStatusTest, AnInputThatBreaksWhileItIsReadHasBegunToTrain) {
  EXPECT_EQ(status_of(RunPart::kScaffold, Error(Code::kDataLoss, "x")), RunStatus::kTrainingFailed);
  EXPECT_EQ(status_of(RunPart::kScaffold, Error(Code::kUnknown, "x")), RunStatus::kTrainingFailed);
}

TEST(RunStatusTest, ADivergenceAndACheckpointThatCannotBeRestoredHaveTheirOwn) {
  for (const RunPart part :
       {RunPart::kHooks, RunPart::kTraining, RunPart::kEvaluation, RunPart::kExport, RunPart::kMode}) {
    EXPECT_EQ(status_of(part, Error(Code::kDiverged, "x")), RunStatus::kDiverged);
    EXPECT_EQ(status_of(part, RestoreError(Code::kDataLoss, "x")), RunStatus::kNoRestore);
  }
  EXPECT_EQ(status_of(RunPart::kPlan, RestoreError(Code::kNotFound, "x")), RunStatus::kNoRestore);
}

}  // namespace
}  // namespace belay::runtime
