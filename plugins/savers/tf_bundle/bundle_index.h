// SPDX-License-Identifier: Apache-2.0
// The content of the .index file: the tensors, and the places of their elements.
//
//   model.index                     key "" -> Header, name -> Entry (bundle.proto)
//   model.data-00000-of-00002       elements, row-major, one tensor after the other
//   model.data-00001-of-00002
//
// A partitioned variable has an entry with its whole shape and a list of slices. Each slice has its entry, too.
#pragma once

#include <belay/tensor.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "index_table.h"

namespace tf_bundle {

struct Place {
  std::int32_t shard = 0;
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint32_t crc = 0;  // masked
};

struct Slice {
  belay::Dims start;   // per dimension
  belay::Dims length;  // per dimension; a whole dimension has its size
  Place place;
};

struct Tensor {
  std::string name;
  std::int32_t dtype = 0;  // TensorFlow's number
  belay::Dims dims;
  Place place;
  std::vector<Slice> slices;  // if not empty, they cover the tensor, each element once, and `place` is not used

  std::uint64_t elements() const;
};

struct BundleIndex {
  std::int32_t shards = 1;
  bool big_endian = false;
  std::vector<Tensor> tensors;  // by name, each once
};

// Checks every rule that the readers of the files rely on: sizes fit shapes, slices cover their tensor. DATA_LOSS names
// the tensor. UNIMPLEMENTED: the file is for a later TensorFlow.
BundleIndex parse_index(const Records& records);

// Takes tensors without slices, by name.
Records format_index(const BundleIndex& index);

// Returns "tensor \"a/b\"", with unprintable characters escaped.
std::string tensor_text(std::string_view name);

}  // namespace tf_bundle
