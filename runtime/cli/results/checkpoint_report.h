// SPDX-License-Identifier: Apache-2.0
// The output of `belay checkpoint`: for people and, one object or list, for tools.
#pragma once

#include <cstdint>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "runtime/checkpoint/stored/compare_stored.h"
#include "runtime/checkpoint/stored/list_stored.h"
#include "runtime/checkpoint/stored/tensor_values.h"
#include "runtime/checkpoint/stored/verify_stored.h"

namespace belay::runtime {

// `now_ns`: nanoseconds since 1970, for the ages.
void print_list(const StoredList& list, std::int64_t now_ns, bool json, std::ostream& out);

// A tensor in the output of `show`.
struct ShownTensor {
  TensorInfo info;
  std::optional<TensorStatistics> statistics = {};  // none: of a type that belay cannot read
  std::string min = {}, max = {};                   // as text; empty: no element is finite
};
struct ShownStored {
  std::string path;
  std::optional<std::int64_t> step = {};
  std::string saver;
  std::vector<ShownTensor> tensors = {};
  std::string schema = {};  // as JSON (data/schema.h); empty: it keeps none
  std::string digest = {};  // of all variables, from the checkpoint; empty: it has none
};
// Returns the tensor with its smallest and its largest element.
ShownTensor shown(const NamedTensor& tensor);
void print_shown(const ShownStored& stored, bool json, std::ostream& out);

// Prints one row of the last dimension on each line.
void print_values(const NamedTensor& tensor, bool json, std::ostream& out);

void print_differences(const std::vector<StoredDifference>& differences, const ComparedStored& sums, bool json,
                       std::ostream& out);

void print_verified(const std::vector<VerifiedStored>& all, bool json, std::ostream& out);

// The files that `convert` wrote.
struct CopiedStored {
  std::string path, saver;
  std::uint64_t tensors = 0;
  std::uint64_t bytes = 0;
  std::vector<std::string> left_out = {};
};
void print_copied(const CopiedStored& copied, bool json, std::ostream& out);

// "removed runs/mnist/model.ckpt-2000"
void print_change(const std::string& what, const std::string& path, bool json, std::ostream& out);

}  // namespace belay::runtime
