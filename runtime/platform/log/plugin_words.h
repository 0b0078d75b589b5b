// SPDX-License-Identifier: Apache-2.0
// Prepares texts of plugins for people: each on one line, of a bounded length.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "belay/error.h"

namespace belay::runtime {

constexpr std::uint64_t kMostLogBytes = std::uint64_t{1} << 16;  // of a line
constexpr std::uint64_t kMostReasonBytes = 4096;                 // like that of a status

// Returns at most `most` bytes of the text. An impossible text is replaced by a note.
std::string words_of(belay_str text, std::uint64_t most);

// Makes an Error of a code and its message. A code that abi.h does not know becomes INTERNAL, and is shown.
Error error_of(std::int32_t code, std::string_view message);

}  // namespace belay::runtime
