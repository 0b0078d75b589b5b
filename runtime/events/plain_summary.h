// SPDX-License-Identifier: Apache-2.0
// Checks the bytes of a summary without making a message. The most common ones need neither memory nor a change, and
// are written unchanged.
//
//   if (is_plain_summary(bytes)) ... the bytes go into the file
//   else                         ... parsed, and logged, changed or refused
//
// [any thread]
#pragma once

#include <string_view>

namespace belay::runtime {

// True for the characters of tags: letters, digits, "_", ".", "/" and "-".
bool is_tag_character(char c) noexcept;
// True if a tag may be written unchanged: it has only these characters, and the first is no "/".
bool is_clean_tag(std::string_view tag) noexcept;

// True if the bytes are a Summary message of values with clean tags and without metadata. Each value is a finite
// number, a histogram or an image in the form of the summary operations. False means nothing: the bytes may be of
// another kind, need a change, or be no message.
bool is_plain_summary(std::string_view bytes) noexcept;

}  // namespace belay::runtime
