// SPDX-License-Identifier: Apache-2.0
// The index of a model in several files, model.safetensors.index.json:
//
//   {"metadata": {"total_size": 32}, "weight_map": {"a": "model-00001-of-00002.safetensors", "b": ...}}
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace belay_safetensors {

// Maps each tensor to its file.
using WeightMap = std::map<std::string, std::string>;

// DATA_LOSS names the fault: it is no such JSON, a tensor occurs twice, or a file is outside of the directory. Other
// content of the JSON is skipped.
WeightMap parse_shard_index(std::string_view json);

// `total_size` is the bytes of all tensors.
std::string format_shard_index(const WeightMap& files, std::uint64_t total_size);

// Returns "model-00001-of-00006.safetensors". `shard` counts from 0.
std::string shard_file(std::size_t shard, std::size_t shards);

}  // namespace belay_safetensors
