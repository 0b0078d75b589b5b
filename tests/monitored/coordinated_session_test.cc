// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/coordinated_session.h"

#include "tests/monitored/coordinated_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST_F(CoordinatedSessionTest, StopsWhenTheInnerSessionDoes) {
  CoordinatedSession session = make();
  inner_stop = true;
  EXPECT_TRUE(session.should_stop());
}

TEST_F(CoordinatedSessionTest, ARunGoesOnWhateverTheCoordinatorHolds) {
  CoordinatedSession session = make();
  coordinator->request_stop(Error(Code::kUnknown, "of a thread"));
  session.run({});
  EXPECT_EQ(runs, 1);
}

TEST_F(CoordinatedSessionTest, AfterCloseARunIsRefused) {
  CoordinatedSession session = make();
  session.close();
  EXPECT_EQ(error_of([&] { session.run({}); }), "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(error_of([&] { session.run_step_fn([](StepFnContext&) { return std::any(); }); }),
            "FAILED_PRECONDITION: [B5070] Run called on a closed session");
  EXPECT_EQ(runs, 0);
}

}  // namespace
}  // namespace belay::runtime::testing
