// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/ld_cache.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>

namespace belay::runtime {
namespace {

struct Header {
  char magic[20];  // "glibc-ld.so.cache1.1"
  std::uint32_t n_entries;
  std::uint32_t strings_size;
  std::uint8_t flags, padding[3];
  std::uint32_t extensions;
  std::uint32_t unused[3];
};
static_assert(sizeof(Header) == 48);

struct Entry {
  std::int32_t flags;
  std::uint32_t name, path;  // offsets of strings, from the header
  std::uint32_t os_version;
  std::uint64_t hardware;
};
static_assert(sizeof(Entry) == 24);

constexpr std::int32_t kGlibc = 3;
#if defined(__x86_64__)
constexpr std::int32_t kLibraryFlags = kGlibc | 0x0300;
#else
constexpr std::int32_t kLibraryFlags = kGlibc | 0x0a00;
#endif

std::string text_at(std::string_view cache, std::uint32_t offset) {
  if (offset >= cache.size()) return "";
  const std::string_view rest = cache.substr(offset);
  return std::string(rest.substr(0, rest.find('\0')));
}

}  // namespace

std::map<std::string, std::string, std::less<>> parse_ld_cache(std::string_view text) {
  std::map<std::string, std::string, std::less<>> paths;
  const std::string_view magic = "glibc-ld.so.cache1.1";
  // An older format may come before it.
  const std::size_t begin = text.find(magic);
  if (begin == std::string_view::npos || text.size() - begin < sizeof(Header)) return paths;
  const std::string_view cache = text.substr(begin);
  Header header;
  std::memcpy(&header, cache.data(), sizeof(header));
  const std::size_t n = std::min<std::size_t>(header.n_entries, (cache.size() - sizeof(Header)) / sizeof(Entry));
  for (std::size_t i = 0; i < n; ++i) {
    Entry entry;
    std::memcpy(&entry, cache.data() + sizeof(Header) + i * sizeof(Entry), sizeof(entry));
    if (entry.flags != kLibraryFlags || entry.hardware != 0) continue;
    paths.try_emplace(text_at(cache, entry.name), text_at(cache, entry.path));
  }
  return paths;
}

std::map<std::string, std::string, std::less<>> read_ld_cache() {
  std::ostringstream text;
  text << std::ifstream("/etc/ld.so.cache", std::ios::binary).rdbuf();
  return parse_ld_cache(text.str());
}

}  // namespace belay::runtime
