// SPDX-License-Identifier: Apache-2.0
// A training that fails, in parts. `belay reduce` can leave out each part.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "runtime/data/input_feed.h"
#include "runtime/manifest/toml_tree.h"

namespace belay::runtime {

// Batches that the run took before it failed, by the input's components. None: they could not be taken from the input,
// and the manifest names the input unchanged.
struct CapturedBatches {
  std::vector<InputComponent> components;
  std::vector<std::vector<DenseTensor>> batches;

  // Returns the rows of the smallest batch.
  std::size_t rows() const;
};

struct FailingCase {
  TomlTable manifest;
  std::vector<std::size_t> batches = {};  // indices of the captured ones, in their order
  std::vector<std::size_t> rows = {};     // indices of the examples of each
  // The variables and the optimizer's slots are those of the run's checkpoint before the captured batches.
  bool warm_start = false;
};

}  // namespace belay::runtime
