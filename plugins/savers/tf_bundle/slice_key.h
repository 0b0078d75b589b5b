// SPDX-License-Identifier: Apache-2.0
// The index's key for one part of a partitioned variable, in Google's OrderedCode:
//
//   number 0 | name, escaped, and its end | rank | start and length of each dimension
//
// A number is its length in bytes and then its bytes, the largest first. A signed number has length and sign in its
// first bits. So keys sort like the values that they encode. A slice sorts right after the header.
#pragma once

#include <belay/tensor.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tf_bundle {

// The part of one dimension in the index's spelling. Another spelling of the same part is another key.
struct Extent {
  std::int64_t start = 0;
  std::int64_t length = -1;  // -1: all of it
};

std::string slice_key(std::string_view name, const std::vector<Extent>& extents);

}  // namespace tf_bundle
