// SPDX-License-Identifier: Apache-2.0
// What the .index file says: the tensors, and where their elements are.
//
//   model.index                     key "" -> Header, name -> Entry (bundle.proto)
//   model.data-00000-of-00002       elements, row-major, one tensor after the other
//   model.data-00001-of-00002
//
// A partitioned variable has an entry with its whole shape and a list of slices, and an entry for each slice.
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
  belay::Dims length;  // the same; of a whole dimension its size
  Place place;
};

struct Tensor {
  std::string name;
  std::int32_t dtype = 0;  // TensorFlow's number
  belay::Dims dims;
  Place place;
  std::vector<Slice> slices;  // not empty: they cover it, each element once, and `place` says nothing

  std::uint64_t elements() const;
};

struct BundleIndex {
  std::int32_t shards = 1;
  bool big_endian = false;
  std::vector<Tensor> tensors;  // by name, each once
};

// Every rule that the files' readers rely on is checked: sizes fit shapes, slices cover their tensor. DATA_LOSS names
// the tensor; UNIMPLEMENTED: written for a later TensorFlow.
BundleIndex parse_index(const Records& records);

// Tensors without slices, by name.
Records format_index(const BundleIndex& index);

// "tensor \"a/b\"", with what cannot be printed escaped.
std::string tensor_text(std::string_view name);

}  // namespace tf_bundle
