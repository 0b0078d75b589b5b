// SPDX-License-Identifier: Apache-2.0
// Formats values and keys as TOML.
#pragma once

#include <string>
#include <string_view>

#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

// Returns the shortest string that reads back as the same number. It always has a point or an exponent, or is inf or
// nan.
std::string toml_number(double number);

// Returns "a \"quoted\" string" on one line, with control characters escaped. TOML cannot express bytes that are no
// UTF-8: they become U+FFFD.
std::string toml_string(std::string_view text);

// Formats an option's value.
std::string toml_value(const OptionValue& value);

// Formats one part of a key, in quotes if it needs them.
std::string toml_key(std::string_view part);

}  // namespace belay::runtime
