// SPDX-License-Identifier: Apache-2.0
// Values and keys as TOML writes them.
#pragma once

#include <string>
#include <string_view>

#include "belay/runtime/plugin_use.h"

namespace belay::runtime {

// The shortest string that reads back as the same number, always with a point, an exponent, or as inf or nan.
std::string toml_number(double number);

// "a \"quoted\" string", in one line, control characters escaped. TOML has no words for bytes that are no UTF-8: they
// become U+FFFD.
std::string toml_string(std::string_view text);

// An option's value.
std::string toml_value(const OptionValue& value);

// One part of a key, in quotes where it needs them.
std::string toml_key(std::string_view part);

}  // namespace belay::runtime
