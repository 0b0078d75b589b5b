// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/process_limits.h"

#include <gmock/gmock.h>

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(ProcessLimits, OneThatIsAnotherNowIsNamedWithBothValues) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit at_first{200, before.rlim_max}, lower{100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &at_first), 0);
  const ProcessLimits limits;
  EXPECT_THAT(limits.changes(), IsEmpty());
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &lower), 0);
  EXPECT_THAT(limits.changes(), ElementsAre("the limit of open files (ulimit -n) was 200 and is 100"));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace belay::runtime
