// SPDX-License-Identifier: Apache-2.0
// The loader's tests share these: plugin files to spoil, and the messages about them.
#pragma once

#include <sys/stat.h>

#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "belay/testing/temporary_folder.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

inline std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline std::string replaced(std::string text, std::string_view what, std::string_view with) {
  for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size()))
    text.replace(at, what.size(), with);
  return text;
}

// Writes a number of T's size over the bytes at `offset`.
template <class T>
std::string patched(std::string bytes, std::size_t offset, T value) {
  std::memcpy(bytes.data() + offset, &value, sizeof(value));
  return bytes;
}

// Returns what() of the LoadError that f throws, with `folder` written as "DIR"; empty if f throws none.
template <class F>
std::string load_error_of(F&& f, const std::string& folder = {}) {
  try {
    f();
  } catch (const LoadError& e) {
    return folder.empty() ? e.what() : replaced(e.what(), folder, "DIR");
  }
  return "";
}

// Keeps lines as "warning source: message".
class RecordingLogger final : public Logger {
 public:
  void log(LogLevel level, std::string_view source, std::string_view text) override {
    const std::lock_guard lock(mutex_);
    lines.push_back(std::string(name(level)) + " " + std::string(source) + ": " + std::string(text));
  }
  bool enabled(LogLevel level) const override { return level >= LogLevel::kInfo; }
  bool interactive() const override { return true; }
  void status_line(std::string_view text) override { status = text; }
  void set_step(std::int64_t) override {}
  void flush() override {}

  std::vector<std::string> lines;
  std::string status;

 private:
  static const char* name(LogLevel level) {
    switch (level) {
      case LogLevel::kDebug: return "debug";
      case LogLevel::kInfo: return "info";
      case LogLevel::kWarning: return "warning";
      case LogLevel::kError: return "error";
    }
    return "?";
  }
  std::mutex mutex_;
};

}  // namespace belay::runtime
