// SPDX-License-Identifier: Apache-2.0
// Reads tensors from the data files that the index describes. Every byte passes its checksum.
#pragma once

#include <belay/saver.h>

#include <deque>
#include <map>
#include <set>
#include <string>

#include "bundle_index.h"

namespace tf_bundle {

// Returns "model.data-00000-of-00002".
std::string shard_name(std::int32_t shard, std::int32_t shards);

class ShardReader {
 public:
  ShardReader(const belay::Directory& directory, const BundleIndex& index) : directory_(directory), index_(index) {}

  // Checks that the tensor's bytes lie inside the data files, before memory is allocated for it. A missing file is no
  // error yet.
  void check(const Tensor& tensor);
  // Fills the memory, which has room for all elements. DATA_LOSS names the file and the offset.
  void read_numbers(const Tensor& tensor, void* memory);
  // Adds the strings to `keep`, and fills the memory with views of them.
  void read_strings(const Tensor& tensor, belay_str* memory, std::deque<std::string>& keep);

 private:
  const belay::File* open(std::int32_t shard);
  const belay::File& file_of(const Tensor& tensor, const Place& place);
  std::string in_file(const Place& place) const;

  const belay::Directory& directory_;
  const BundleIndex& index_;
  std::map<std::int32_t, belay::File> files_;
  std::set<std::int32_t> missing_;
};

}  // namespace tf_bundle
