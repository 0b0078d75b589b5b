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

// Tensor to file.
using WeightMap = std::map<std::string, std::string>;

// DATA_LOSS names what is wrong: no such JSON, a tensor that is there twice, a file outside of the directory. What else
// the JSON holds is skipped.
WeightMap parse_shard_index(std::string_view json);

// `total_size`: bytes of all tensors.
std::string format_shard_index(const WeightMap& files, std::uint64_t total_size);

// "model-00001-of-00006.safetensors"; counted from 0.
std::string shard_file(std::size_t shard, std::size_t shards);

}  // namespace belay_safetensors
