// SPDX-License-Identifier: Apache-2.0
// Parts of a partitioned variable.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "bundle_index.h"

namespace tf_bundle {

// Returns the fault of a tensor's parts: one lies outside of its shape, two share an element, or none has an element.
// Empty: there is no fault.
std::string fault_of(const std::vector<Slice>& slices, const belay::Dims& dims);

// Calls place(offset, bytes) for each run of the slice's elements that is contiguous in the whole tensor, too. The
// order is that of the stored slice. The offset is in the whole tensor.
void for_each_run(const Slice& slice, const belay::Dims& dims, std::uint64_t width,
                  const std::function<void(std::uint64_t offset, std::uint64_t bytes)>& place);

}  // namespace tf_bundle
