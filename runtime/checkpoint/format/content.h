// SPDX-License-Identifier: Apache-2.0
// The content of a checkpoint, as plain values. A save fills a CheckpointContent at one moment, the step's boundary. A
// restore returns the RunState, and the variables in separate buffers.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "belay/better.h"
#include "belay/input.h"
#include "belay/tensor.h"

namespace belay::runtime {

class OpenFile;

// A tensor by name. A function that takes one names the owner of its memory. Only numeric types are allowed.
struct NamedTensor {
  std::string name;
  belay_tensor tensor{};
  bool guarded = false;  // its elements lie between guards (guarded_memory.h), like a DenseTensor's
};

struct TensorInfo {
  std::string name;
  DType dtype = DType::kInvalid;  // also for a file's tensor of a type that belay does not have
  Dims dims;
  bool operator==(const TensorInfo&) const = default;
};

// Returns "float32 [2, 3]".
inline std::string form_text(const TensorInfo& t) {
  if (t.dtype == DType::kInvalid) return "of a type that belay does not have, " + dims_text(t.dims);
  return std::string(dtype_name(t.dtype)) + " " + dims_text(t.dims);
}

// A tensor of a hook's state. In a saving run its elements are in memory, in a checkpoint in its file `state.data`
// (state_data.h). Copies share them.
struct StateTensor {
  DType dtype = DType::kInvalid;  // no strings
  Dims dims = {};
  std::shared_ptr<void> memory = {};                // 64-byte aligned; null: see below
  std::shared_ptr<const OpenFile> file = {};        // null: the state was parsed, but its file not opened
  std::uint64_t offset = 0;                         // of the elements in the file
  std::uint32_t crc32c = 0;                         // of the elements in the file
  bool operator==(const StateTensor& other) const;  // compares form and checksum
};

// A hook's state by key. Strings may have any bytes; keys are UTF-8. Numbers are read back with the same bits, even NaN
// and infinity.
using StateValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::int64_t>, std::vector<double>,
                                std::vector<std::string>, StateTensor>;
struct HookState {
  std::map<std::string, StateValue, std::less<>> entries = {};
  std::string written_by = {};  // version of the hook's library; empty: unknown
  bool operator==(const HookState&) const = default;
};

// The facts that must be equal in the saved and the resumed run, to compute the same bits.
struct Fingerprint {
  std::int64_t threads = 0;
  std::string isa;
  std::string binary;
  std::uint64_t seed = 0;
  std::string precision = "float32";
  std::string onednn = {};                          // version and instruction set; empty: not recorded
  std::string floating_point = "denormals kept";    // the default from before it was recorded
  std::map<std::string, std::string> plugins = {};  // build ids by kind and name: "model:mlp"
  std::string c_library = {};                       // its libm computes: "glibc 2.36"; empty: not recorded
  bool operator==(const Fingerprint&) const = default;
};

// A checkpoint by its step, and the value of its evaluation.
struct BestCheckpoint {
  std::int64_t step = 0;
  double value = 0;
  bool operator==(const BestCheckpoint&) const = default;
};
// See best_checkpoints.h.
struct BestList {
  std::string metric = {};  // empty: the run keeps no list
  Better better = Better::kSmaller;
  std::vector<BestCheckpoint> checkpoints = {};  // the best one first
  std::string basename = "model.ckpt";           // of their names
  bool operator==(const BestList&) const = default;
};

// All that a run continues from, besides the variables.
struct RunState {
  std::int64_t global_step = 0;
  std::map<std::string, Position> input_positions;  // by the input's name in the manifest
  std::map<std::string, HookState> hook_states;     // by the instance's name
  Fingerprint fingerprint;
  BestList best;  // includes this checkpoint, if it is one of them
};

struct CheckpointContent : RunState {
  std::vector<NamedTensor> variables;  // the caller's memory, unchanged until the save returns
  std::string graph_hash;
  std::string manifest = {};  // the run's, as TOML; empty: the run has none, and the checkpoint keeps none
  std::string schema = {};    // the schema that the training learned, as JSON; empty: there is none
};

}  // namespace belay::runtime
