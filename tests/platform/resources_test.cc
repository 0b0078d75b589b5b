// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/resources.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>
#include <system_error>

namespace belay::runtime {
namespace {

TEST(Resources, T_57a_AThreadThatCannotBeStartedIsSaidToBeThatWithTheLimitAndTheCure) {
  const std::system_error error(std::make_error_code(std::errc::resource_unavailable_try_again));
  const std::string text = resource_shortage(error);
  EXPECT_EQ(text.rfind("a thread cannot be started: ", 0), 0u) << text;
  EXPECT_NE(text.find("raise the limit, end other programs of this user, or set run.threads lower"), text.npos) << text;
}

TEST(Resources, T_57b_MemoryThatCannotBeHadIsSaidToBeThat) {
  EXPECT_EQ(resource_shortage(std::bad_alloc()).rfind("out of memory: ", 0), 0u);
  EXPECT_EQ(resource_shortage(std::system_error(std::make_error_code(std::errc::not_enough_memory)))
                .rfind("out of memory: ", 0),
            0u);
}

TEST(Resources, AnyOtherErrorIsNone) {
  EXPECT_EQ(resource_shortage(std::runtime_error("boom")), "");
  EXPECT_EQ(resource_shortage(std::system_error(std::make_error_code(std::errc::io_error))), "");
}

}  // namespace
}  // namespace belay::runtime
