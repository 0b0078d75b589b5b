// SPDX-License-Identifier: Apache-2.0
// A sparse gradient: rows of a table with their ids, as in TensorFlow. The gradient of a gather touches few rows of a
// large table, and an optimizer that takes it so reads and writes these rows alone (belay/ops/training.h).
#pragma once

#include <string_view>
#include <vector>

#include "belay/graph.h"

namespace belay {
inline namespace v0 {
namespace ops {

struct IndexedSlices {
  Output indices;  // int32 or int64
  Output rows;     // the dimensions of the indices, then those of a row of the table
};

// Sums the slices of each id. The result has indices (int64 [n]) and rows ([n, ...]), where n is the number of all
// indices of `parts`, at most that of the table's rows. The ids are ascending, each once; after them the indices are -1
// and the rows are 0. So the shape does not depend on the ids. The slices of one part are added in their order, then
// the sums of the parts in theirs, which are the bits of the dense gradient at any number of threads. Only the shape of
// `table` matters. An id outside of it ends the run with INVALID_ARGUMENT. No gradient passes.
inline IndexedSlices sum_indexed_slices(const Output& table, const std::vector<IndexedSlices>& parts,
                                        std::string_view name = {}) {
  NodeBuilder node = table.graph().node("SumIndexedSlices", name);
  node.in(table);
  for (const IndexedSlices& part : parts) node.in(part.rows).in(part.indices);
  const Output indices = node.output();
  return {indices, indices.sibling(1)};
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
