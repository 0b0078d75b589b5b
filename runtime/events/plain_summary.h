// SPDX-License-Identifier: Apache-2.0
// Looks at the bytes of a summary without making a message of them: what is most common needs neither memory nor a
// change, and is written as it came.
//
//   if (is_plain_summary(bytes)) ... the bytes go into the file
//   else                         ... parsed, and said, changed or refused
//
// [any thread]
#pragma once

#include <string_view>

namespace belay::runtime {

// Letters, digits, "_", ".", "/" and "-": what a tag is made of.
bool is_tag_character(char c) noexcept;
// Whether a tag may be written as it is: of these characters, the first of them no "/".
bool is_clean_tag(std::string_view tag) noexcept;

// True where the bytes are a Summary message of values with clean tags, without metadata, each of them a finite
// number, a histogram or an image as the summary operations make them. False says nothing: the bytes are of another
// kind, or need a change, or are no message.
bool is_plain_summary(std::string_view bytes) noexcept;

}  // namespace belay::runtime
