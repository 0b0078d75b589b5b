// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/record_writer.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

std::string framed(std::string_view record) {
  std::string bytes;
  append_record(bytes, record);
  return bytes;
}

TEST(RecordWriter, HasTheBytesOfTheFormat) {
  EXPECT_EQ(framed("abc"), std::string("\x03\0\0\0\0\0\0\0"
                                       "\xb0\x99I\x0e"
                                       "abc"
                                       "nW\xf1!",
                                       19));
}

TEST(RecordWriter, RecordsFollowEachOther) {
  std::string bytes = "before";
  append_record(bytes, "");
  append_record(bytes, "abc");
  EXPECT_EQ(bytes, "before" + framed("") + framed("abc"));
  EXPECT_EQ(framed("").size(), kRecordHead + kRecordFoot);
}

}  // namespace
}  // namespace belay::runtime
