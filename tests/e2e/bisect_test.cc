// SPDX-License-Identifier: Apache-2.0
// `belay bisect`: the step, the operation and the element where two runs part.
#include <filesystem>
#include <string>

#include "tests/e2e/planted_run.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

using BisectTest = PlantedRunTest;

TEST_F(BisectTest, FindsOneUnitInTheLastPlaceOfOneElementOfOneStep) { expect_parted(3, 200, 50); }

TEST_F(BisectTest, SaysWhatDiffersInTheManifestsAndWhatTheElementWasMadeFrom) {
  ASSERT_EQ(belay({"run", planted("a", "")}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", plant(33, 10))}).status, 0);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("manifests, a and b:\n"), HasSubstr("model.step"), HasSubstr("plugins: the same"),
                           HasSubstr("step 20 is the last that is known to be equal, step 40 is known to differ")));
  EXPECT_THAT(r.out,
              AllOf(HasSubstr("replayed: steps 21 to 40 of each"), HasSubstr("step 33 is the first that differs"),
                    HasSubstr("the first tensor that differs is 'planted:0' (Plant), float32 [16, 8]\n"),
                    HasSubstr("  element [1, 2]: "), HasSubstr(", 1 unit in the last place; 1 of 128 differs\n"),
                    HasSubstr("made from 'hidden/Tanh:0': equal")));
}

// One side keeps a value that the other passes over inside of a fused operation.
TEST_F(BisectTest, PlansThatAreFusedOtherwiseAreComparedInWhatBothKeep) {
  ASSERT_EQ(belay({"run", planted("a", "")}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", plant(33, 10, "keeps_sum = true\n"))}).status, 0);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("step 33 is the first that differs"),
                           HasSubstr("the first tensor that differs is 'planted:0' (Plant), float32 [16, 8]\n"),
                           HasSubstr("  only b keeps hidden/BiasAdd:0"), HasSubstr(": not compared, since the other")))
      << r.err;
}

TEST_F(BisectTest, RunsThatAreEqualAreSoUpToTheirEnd) {
  ASSERT_EQ(belay({"run", planted("a", "")}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", "")}).status, 0);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b")});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(r.out, HasSubstr("manifests: the same\nplugins: the same\nfingerprints: the same\n"));
  EXPECT_THAT(r.out, HasSubstr("they are equal up to step 60, the last of both\n"));
}

// The steps of a run after its last checkpoint are replayed too, as far as both runs have come.
TEST_F(BisectTest, StepsBehindTheLastCommonCheckpointAreReplayed) {
  ASSERT_EQ(belay({"run", planted("a", "", 50)}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", plant(47, 3), 52)}).status, 0);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b"), "--json"});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(nlohmann::json::parse(r.out, nullptr, false).value("step", 0), 47) << r.out << r.err;
}

TEST_F(BisectTest, OtherInitialValuesAreNamed) {
  ASSERT_EQ(belay({"run", planted("a", "")}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", ""), "--set", "run.seed=43"}).status, 0);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, AllOf(HasSubstr("run.seed"), HasSubstr("they differ at step 0, the first of which both have"),
                           HasSubstr("hidden/kernel")));
}

TEST_F(BisectTest, EachSideIsReplayedByItsOwnProgram) {
  ASSERT_EQ(belay({"run", planted("a", "")}).status, 0);
  ASSERT_EQ(belay({"run", planted("b", plant(33, 10))}).status, 0);
  const std::string program = temp / "other_belay", said = temp / "said";
  write_file(program, "#!/bin/sh\necho \"$2\" >> " + said + "\nexec " + tested_belay() + " \"$@\"\n");
  std::filesystem::permissions(program, std::filesystem::perms::owner_all);
  const ProcessResult r = belay({"bisect", dir("a"), dir("b"), "--belay-b", program, "--out", dir("kept")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_EQ(contents(said), dir("b") + "\n" + dir("b") + "\n");
  EXPECT_THAT(listing(dir("kept")), ::testing::IsSupersetOf({"a-metrics", "a-step-33", "b-metrics", "b-step-33"}));
  const ProcessResult none = belay({"bisect", dir("a"), dir("b"), "--belay-a", temp / "nothing"});
  EXPECT_EQ(none.status, 2) << none.out;
  EXPECT_THAT(none.err, HasSubstr("nothing' cannot be started"));
}

TEST_F(BisectTest, WhatIsNoRunIsNamed) {
  const ProcessResult r = belay({"bisect", dir("a"), dir("b")});
  EXPECT_EQ(r.status, 2) << r.err;
  EXPECT_THAT(r.err, Not(HasSubstr("terminate")));
}

}  // namespace
}  // namespace belay::runtime::testing
