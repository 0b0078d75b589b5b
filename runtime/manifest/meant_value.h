// SPDX-License-Identifier: Apache-2.0
// Guesses the meaning of a value with another type than the key's. The helps of such messages use it, for the host's
// keys and for plugins' options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

enum class WantedValue { kBoolean, kInteger, kNumber };

// Returns "true" or "false" for a word that means this elsewhere: yes, Off, True; else null.
const char* boolean_of(std::string_view word);

// Takes a string: "20", "20k", "yes", "10m" for a key that ends in _secs, "${NAME}". Empty: it is not known.
std::string help_for_text(WantedValue wanted, const std::string& key, const std::string& text);

// Takes a number: 10.0 for an integer, 1 for a boolean. Empty: it is not known.
std::string help_for_number(WantedValue wanted, const std::string& key, double number);

// Takes a word that is none of `words`. Returns the meaning of another program's name, the nearest word, or one with
// the same start: "eval" for "evaluate", "maximum" for "max". Empty: there is none.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words);

}  // namespace belay::runtime
