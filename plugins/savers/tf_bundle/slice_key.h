// SPDX-License-Identifier: Apache-2.0
// The key under which the index keeps one part of a partitioned variable, in Google's OrderedCode:
//
//   number 0 | name, escaped, and its end | rank | start and length of each dimension
//
// A number is its length in bytes and the bytes, the largest first; a signed one has its length and sign in its first
// bits. Both are made so that keys are in the order of what they encode; a slice sorts right behind the header.
#pragma once

#include <belay/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tf_bundle {

// The part of one dimension as the index spells it: another spelling of the same part is another key.
struct Extent {
  std::int64_t start = 0;
  std::int64_t length = -1;  // -1: all of it
};

std::string slice_key(std::string_view name, const std::vector<Extent>& extents);

}  // namespace tf_bundle
