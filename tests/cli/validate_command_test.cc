// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/plugins/validate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

namespace belay::runtime {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

struct Validated {
  int status;
  std::string out, err;
};

Validated validated(const std::vector<std::string>& sets) {
  std::ostringstream out, err;
  const int status = validate_command(BELAY_WANTING, {.sets = sets}, false, out, err);
  return {status, out.str(), err.str()};
}

TEST(ValidateCommand, T_30d_APluginThatNeedsOptionsIsToldApartFromOneThatFails) {
  const Validated v = validated({});
  EXPECT_EQ(v.status, 2);
  EXPECT_THAT(v.out, HasSubstr("hook \"wants_a_number\"\n"
                               "  create.options              needs options\n"
                               "    it takes no synthetic value for 'size'; give it with --set size=...\n"
                               "    INVALID_ARGUMENT: 'size' must be 784\n"));
  EXPECT_THAT(v.out, EndsWith("1 plugin not tried for want of options\n"));
}

TEST(ValidateCommand, T_30c_AKeyOfTheManifestIsRefused) {
  const Validated v = validated({"file=x.so"});
  EXPECT_EQ(v.status, 2);
  EXPECT_THAT(v.err,
              HasSubstr("--set file: error: \"file\" is no option: in a manifest it names the plugin's library"));
}

}  // namespace
}  // namespace belay::runtime
