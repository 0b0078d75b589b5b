// SPDX-License-Identifier: Apache-2.0
// The same in more places, and longer runs.
#include "tests/e2e/planted_run.h"

namespace belay::runtime::testing {
namespace {

using PlantedLongTest = PlantedRunTest;

TEST_F(PlantedLongTest, ANanIsFoundInTenPlacesEach) { expect_found(10); }

TEST_F(PlantedLongTest, OneUnitInTheLastPlaceIsFoundInTwentyPlacesOfFiveThousandSteps) { expect_parted(20, 5000, 500); }

}  // namespace
}  // namespace belay::runtime::testing
