// SPDX-License-Identifier: Apache-2.0
// Finds the different tensors of two places. [any thread]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include "runtime/checkpoint/read/read_tensors.h"
#include "runtime/checkpoint/stored/tensor_values.h"

namespace belay::runtime {

// One tensor that differs.
struct StoredDifference {
  std::string name;
  std::optional<TensorInfo> a = {}, b = {};  // none: it is not there
  // Set if both have the same form, with the elements as text.
  std::optional<TensorDifference> values = {};
  std::string position = {}, a_text = {}, b_text = {};  // of the first element that differs
  std::string largest_position = {};
};

struct ComparedStored {
  std::uint64_t equal = 0;  // tensors
  std::uint64_t different = 0;
  std::uint64_t unread = 0;  // tensors of types that belay does not read: their values were not compared
};

// Compares the tensors whose names are wanted. `report` first gets those that are missing in one or have other forms.
// Those with other values follow. Each group is sorted by name.
ComparedStored compare_stored(const StoredBySaver& a, const StoredBySaver& b,
                              const std::function<bool(const std::string&)>& wanted,
                              const std::function<void(const StoredDifference&)>& report);

}  // namespace belay::runtime
