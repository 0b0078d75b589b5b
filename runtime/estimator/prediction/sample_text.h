// SPDX-License-Identifier: Apache-2.0
// Text from a language model. Each character is drawn from the model's prediction after the prompt and the characters
// before it.
//
//   sample_text(session, {ids, probabilities, names}, {.prompt = "ROMEO:", .length = 200}, [](std::string_view
//   character) {
//     std::cout << character << std::flush;
//     return true;
//   });
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/session/direct_session.h"

namespace belay::runtime {

// A model built in mode kPredict. It must be causal: its prediction at a place depends only on the ids up to there.
// After the end of the text, meaningless ids fill its window.
struct LanguageModel {
  Output ids;                      // the fed feature, int32 or int64 [batch, time]; time is the window
  Output probabilities;            // the prediction: of each next id, at each place; [batch, time, ids]. Empty is an
                                   // error: the model has none
  std::vector<std::string> names;  // the characters, by id: InputComponent::class_names
};

struct SampleOptions {
  std::string prompt = {};    // empty: the text begins after a newline or, if there is none, after the first character
  std::int64_t length = 200;  // characters to draw
  double temperature = 1;     // probabilities to the power of 1 / temperature; 0: always the most probable character
  std::uint64_t seed = 42;
};

// Calls deliver(character) for each one as it is drawn, without the prompt. It ends after `length` characters, or when
// deliver returns false. The window is the end of the text so far; each window is computed from scratch. A character
// depends only on the model, the seed, its place in the text and the window before it. So the same seed draws the same
// text. A prompt that is the beginning of an earlier text continues in the same way. Runs use one thread, so the number
// of threads changes nothing. INVALID_ARGUMENT: a character of the prompt has no id, the temperature is no number from
// 0 up, or the model is no language model. DIVERGED: its probabilities are not finite.
void sample_text(DirectSession& session, const LanguageModel& model, const SampleOptions& options,
                 const std::function<bool(std::string_view)>& deliver);

}  // namespace belay::runtime
