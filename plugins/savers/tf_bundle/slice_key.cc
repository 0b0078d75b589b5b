// SPDX-License-Identifier: Apache-2.0
#include "slice_key.h"

namespace tf_bundle {
namespace {

void append_number(std::string& key, std::uint64_t value) {
  int bytes = 0;
  while (bytes < 8 && value >> (8 * bytes) != 0) ++bytes;
  key += static_cast<char>(bytes);
  while (bytes > 0) key += static_cast<char>(value >> (8 * --bytes));
}

void append_name(std::string& key, std::string_view name) {
  for (const char c : name) {
    key += c;
    if (c == '\0') key += '\xff';
    if (c == '\xff') key += '\0';
  }
  key += {'\0', '\1'};
}

// n bytes have room for 7 n bits, one of which is the sign.
void append_signed(std::string& key, std::int64_t value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  int bytes = 1;
  while (bytes < 10 && 7 * bytes - 1 < 64 && magnitude >> (7 * bytes - 1) != 0) ++bytes;
  std::string text(static_cast<std::size_t>(bytes), value < 0 ? '\xff' : '\0');
  for (int i = 0; i < bytes && i < 8; ++i)
    text[static_cast<std::size_t>(bytes - 1 - i)] = static_cast<char>(value >> (8 * i));
  // The number of leading ones is the number of bytes. A negative number has them inverted.
  for (int i = 0; i < bytes; ++i)
    text[static_cast<std::size_t>(i / 8)] = static_cast<char>(text[static_cast<std::size_t>(i / 8)] ^ 0x80 >> (i % 8));
  key += text;
}

}  // namespace

std::string slice_key(std::string_view name, const std::vector<Extent>& extents) {
  std::string key;
  append_number(key, 0);
  append_name(key, name);
  append_number(key, extents.size());
  for (const Extent& e : extents) {
    append_signed(key, e.start);
    append_signed(key, e.length);
  }
  return key;
}

}  // namespace tf_bundle
