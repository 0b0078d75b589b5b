// SPDX-License-Identifier: Apache-2.0
// What a plugin says, as people read it: one line each, of a bounded length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "belay/error.h"

namespace belay::runtime {

constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 16;  // of a line
constexpr std::uint64_t kMostReasonBytes = 4096;                 // as of a status

// The text, at most so many bytes of it; a text that cannot be there is said to be none.
std::string words_of(belay_str text, std::uint64_t most);

// A code and its message. A code that abi.h does not know is INTERNAL, and shown.
Error error_of(std::int32_t code, std::string_view message);

}  // namespace belay::runtime
