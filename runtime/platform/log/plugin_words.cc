// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/log/plugin_words.h"

#include <fmt/core.h>

#include "runtime/platform/process/resources.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

std::string words_of(belay_str text, std::uint64_t most) {
  if (text.size == 0) return "";
  const std::string length = fmt::format("{} bytes", text.size);
  if (text.data == nullptr) return "(a text of " + length + " whose data is null)";
  if (text.size <= most) return std::string(detail::view(text));
  return std::string(text.data, static_cast<std::size_t>(most)) + "... (cut off: it has " + length + ")";
}

Error error_of(std::int32_t code, std::string_view message) {
  const bool known = (code > BELAY_OK && code <= BELAY_UNAUTHENTICATED) || (code >= BELAY_STOP && code <= BELAY_SKIP);
  const Code as = known ? static_cast<Code>(code) : Code::kInternal;
  std::string text = escaped(message);
  if (text.empty()) text = known ? std::string(code_name(as)) + ", without a message" : "no message";
  // The SDK makes this of std::bad_alloc.
  if (as == Code::kResourceExhausted && text == "out of memory")
    if (const std::string limit = memory_limit_of_process(); !limit.empty()) text += ": " + limit;
  if (!known) text += fmt::format(" (unknown status code {})", code);
  return {as, text};
}

}  // namespace belay::runtime
