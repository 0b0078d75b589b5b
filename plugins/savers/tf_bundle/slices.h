// SPDX-License-Identifier: Apache-2.0
// Parts of a partitioned variable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bundle_index.h"

namespace tf_bundle {

// What is wrong with the parts of a tensor of that shape: one outside of it, two that share an element, an element that
// is in none. Empty: nothing.
std::string fault_of(const std::vector<Slice>& slices, const belay::Dims& dims);

// Calls place(offset, bytes) for each run of the slice's elements that is one piece in the whole tensor too, in the
// order in which the slice is stored; the offset is in the whole tensor.
void for_each_run(const Slice& slice, const belay::Dims& dims, std::uint64_t width,
                  const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& place);

}  // namespace tf_bundle
