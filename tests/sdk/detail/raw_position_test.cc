// SPDX-License-Identifier: Apache-2.0
#include "belay/detail/raw_position.h"

#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "belay/testing/error_of.h"

namespace {

using belay::Position;
using belay::detail::RawPosition;
using belay::testing::error_of;

TEST(RawPosition, HasRoomForWhatItIsSetToAndAtLeastForWhatAbiHPromises) {
  RawPosition raw;
  EXPECT_EQ(raw.raw.capacity, std::uint64_t{BELAY_POSITION_BYTES});
  std::memset(raw.raw.bytes, 0x41, BELAY_POSITION_BYTES);
  raw.raw.size = BELAY_POSITION_BYTES;
  EXPECT_EQ(raw.taken().bytes, std::string(BELAY_POSITION_BYTES, 'A'));
  const Position longer{1, 2, std::string(BELAY_POSITION_BYTES + 10, 'B')};
  raw.set(longer);
  EXPECT_EQ(raw.raw.capacity, longer.bytes.size());
  EXPECT_EQ(raw.taken().bytes, longer.bytes);
  raw.clear();
  EXPECT_EQ(raw.taken().bytes, "");
}

TEST(RawPosition, T_145_AWritePastItsBytesIsFound) {
  RawPosition raw;
  raw.raw.bytes[raw.raw.capacity] = 0x41;
  EXPECT_EQ(error_of([&] { (void)raw.taken(); }),
            "INVALID_ARGUMENT: it wrote past the 4096 bytes that there are for a position");
  RawPosition other;
  std::memset(other.raw.bytes, 0xa5, other.raw.capacity);
  other.raw.bytes[other.raw.capacity + 1000] = 0;
  EXPECT_EQ(error_of([&] { (void)other.taken(); }),
            "INVALID_ARGUMENT: it wrote past the 4096 bytes that there are for a position");
}

TEST(RawPosition, T_145_InTheHotPathAFarWriteIsFoundAfterAtMost32Calls) {
  for (const std::size_t far : {0u, 31u, 32u, 500u, 1000u, 1023u}) {
    RawPosition raw;
    raw.raw.bytes[raw.raw.capacity + far] = 0;
    Position position;
    std::string error;
    int calls = 0;
    for (; calls < 32 && error.empty(); ++calls) error = error_of([&] { raw.take(position); });
    EXPECT_EQ(error, "INVALID_ARGUMENT: it wrote past the 4096 bytes that there are for a position") << far;
    EXPECT_TRUE(far >= 32 || calls == 1) << far;
  }
}

}  // namespace
