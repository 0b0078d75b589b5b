// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/names.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <random>

#include "belay/runtime/checkpoint_settings.h"

namespace belay::runtime {
namespace {

constexpr std::string_view kTemporary = ".tmp-", kReplaced = ".old-";
constexpr std::size_t kDigits = 16;

std::string random_digits() {
  std::random_device source;
  std::string digits(kDigits, '0');
  for (char& c : digits) c = "0123456789abcdef"[source() & 15];
  return digits;
}

bool are_random_digits(std::string_view text) {
  const auto is_digit = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == kDigits && std::all_of(text.begin(), text.end(), is_digit);
}

std::optional<std::string> before_mark(std::string_view name, std::string_view mark) {
  const std::size_t at = name.rfind(mark);
  if (at == name.npos || !parse_checkpoint_name(name.substr(0, at))) return std::nullopt;
  if (!are_random_digits(name.substr(at + mark.size()))) return std::nullopt;
  return std::string(name.substr(0, at));
}

}  // namespace

std::string checkpoint_name(std::int64_t step, std::string_view basename) {
  return fmt::format("{}-{}", basename, step);
}

std::optional<std::int64_t> step_of_checkpoint(std::string_view name, std::string_view basename) noexcept {
  if (!name.starts_with(basename) || name.size() < basename.size() + 2 || name[basename.size()] != '-')
    return std::nullopt;
  const std::string_view digits = name.substr(basename.size() + 1);
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || step < 0) return std::nullopt;
  if (digits.front() == '-' || (digits.size() > 1 && digits.front() == '0')) return std::nullopt;
  return step;
}

std::optional<CheckpointName> parse_checkpoint_name(std::string_view name) {
  const std::size_t dash = name.rfind('-');
  if (dash == name.npos || !is_checkpoint_basename(name.substr(0, dash))) return std::nullopt;
  const auto step = step_of_checkpoint(name, name.substr(0, dash));
  if (!step) return std::nullopt;
  return CheckpointName{std::string(name.substr(0, dash)), *step};
}

std::string temporary_name(std::string_view checkpoint) {
  return std::string(checkpoint) + std::string(kTemporary) + random_digits();
}
std::string replaced_name(std::string_view checkpoint) {
  return std::string(checkpoint) + std::string(kReplaced) + random_digits();
}
std::string hidden_name(std::string_view name) {
  return "." + std::string(name) + std::string(kTemporary) + random_digits();
}
bool is_hidden_name_of(std::string_view hidden, std::string_view name) {
  const std::string begin = "." + std::string(name) + std::string(kTemporary);
  return hidden.starts_with(begin) && are_random_digits(hidden.substr(begin.size()));
}
std::optional<std::string> checkpoint_of_temporary(std::string_view name) { return before_mark(name, kTemporary); }
std::optional<std::string> checkpoint_of_replaced(std::string_view name) { return before_mark(name, kReplaced); }

bool is_entry_name(std::string_view name) noexcept {
  if (name.empty() || name.size() > 255 || name == "." || name == "..") return false;
  return std::none_of(name.begin(), name.end(), [](unsigned char c) { return c == '/' || c < 0x20 || c == 0x7f; });
}

}  // namespace belay::runtime
