// SPDX-License-Identifier: Apache-2.0
// What was meant by a value that is of another type than a key wants: the helps of such messages, for the host's keys
// and for plugins' options.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace belay::runtime {

enum class WantedValue { kBoolean, kInteger, kNumber };

// "true" or "false" where a word means that elsewhere: yes, Off, True; else null.
const char* boolean_of(std::string_view word);

// Of a string: "20", "20k", "yes", "10m" where a key ends with _secs, "${NAME}". Empty: not known.
std::string help_for_text(WantedValue wanted, const std::string& key, const std::string& text);

// Of a number: 10.0 for an integer, 1 for a boolean. Empty: not known.
std::string help_for_number(WantedValue wanted, const std::string& key, double number);

// Of a word that is none of `words`: what other programs' names mean, the nearest one, or the one of which it is the
// beginning or that it begins with
// ("eval" of "evaluate", "maximum" of "max"). Empty: there is none.
std::string nearest_word(std::string_view word, const std::vector<std::string>& words);

}  // namespace belay::runtime
