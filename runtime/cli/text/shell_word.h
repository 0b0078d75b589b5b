// SPDX-License-Identifier: Apache-2.0
// Commands in messages have a form that a user can paste into a shell. [any thread]
#pragma once

#include <string>
#include <string_view>

namespace belay::runtime {

// Returns a word that a shell reads as this string: train.toml, 'a b', $'a\nb'.
std::string shell_word(std::string_view text);

}  // namespace belay::runtime
