// SPDX-License-Identifier: Apache-2.0
// The options of a run for TensorBoard's plugin "hparams", each in a column, and the run's end. They are two summaries
// at step 0 of the run's event file. [any thread]
#pragma once

#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace belay::runtime {

using HParam = std::pair<std::string, std::variant<bool, double, std::string>>;

// Returns a serialized Summary with the tag _hparams_/session_start_info. Strings that are no UTF-8 are escaped.
std::string hparams_of_start(const std::vector<HParam>& options, double seconds_since_1970);
// Returns the same with the tag _hparams_/session_end_info.
std::string hparams_of_end(bool success, double seconds_since_1970);

// Returns the content of such a value: "model.hidden = [256], optimizer.learning_rate = 0.001", "success". `content` is
// that of the plugin's metadata. Empty: it is none.
std::string hparams_text(const std::string& content);

}  // namespace belay::runtime
