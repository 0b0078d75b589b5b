// SPDX-License-Identifier: Apache-2.0
// A training that fails, as parts that can be left out: what `belay reduce` makes smaller.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Batches that the run took before it failed, by the input's components. None: the input's data could not be taken out
// of it, and the manifest names it as it was.
struct CapturedBatches {
  std::vector<InputComponent> components;
  std::vector<std::vector<DenseTensor>> batches;

  // Of the smallest batch.
  std::size_t rows() const;
};

struct FailingCase {
  TomlTable manifest;
  std::vector<std::size_t> batches = {};  // which of the captured ones, in their order
  std::vector<std::size_t> rows = {};     // which examples of each
  // The variables and the optimizer's slots are those of the run's checkpoint before the captured batches.
  bool warm_start = false;
};

}  // namespace belay::runtime
