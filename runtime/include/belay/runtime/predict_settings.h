// SPDX-License-Identifier: Apache-2.0
// [predict] of a manifest: the output of mode predict, or the sampling of text.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::runtime {

struct PredictSettings {
  // Names of the model's predictions to write; empty: all, in the model's order.
  std::vector<std::string> keys = {};
  // "jsonl", "csv" or "npy"; "auto": by the ending of `output`, else jsonl.
  std::string format = "auto";
  // Absolute path of the file, which appears as a whole or not at all. Empty: stdout.
  std::string output = {};

  // Not empty: characters are sampled from a language model after this beginning, and the settings above have no
  // effect.
  std::string prompt = {};
  // Number of characters to sample.
  std::int64_t length = 200;
  // Sampling uses the probabilities to the power of 1 / temperature; 0: always the most probable character.
  double temperature = 1;
  // Seed for sampling. The same seed, prompt and checkpoint produce the same characters.
  std::int64_t seed = 42;

  friend bool operator==(const PredictSettings&, const PredictSettings&) = default;
};

}  // namespace belay::runtime
