// SPDX-License-Identifier: Apache-2.0
// What mode predict writes, and where to; or how it samples text. [predict] of a manifest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace belay::runtime {

struct PredictSettings {
  // Which of the model's predictions; empty: all, in the model's order.
  std::vector<std::string> keys = {};
  // "jsonl", "csv" or "npy"; "auto": by the ending of `output`, else jsonl.
  std::string format = "auto";
  // The file, absolute, which appears whole or not at all. Empty: stdout.
  std::string output = {};

  // Not empty: characters are sampled from a language model behind this beginning, and the settings above mean nothing.
  std::string prompt = {};
  // Characters to sample.
  std::int64_t length = 200;
  // Probabilities to the power of 1 / temperature; 0: always the most probable character.
  double temperature = 1;
  // For sampling. The same seed, prompt and checkpoint produce the same text.
  std::int64_t seed = 42;

  friend bool operator==(const PredictSettings&, const PredictSettings&) = default;
};

}  // namespace belay::runtime
