// SPDX-License-Identifier: Apache-2.0
#include "npy_header.h"

#include <belay/error.h>
#include <belay/file_kind.h>

#include <charconv>
#include <limits>
#include <optional>

namespace npy_input {
namespace {

using belay::Code;
using belay::fail;

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMaxRank = 32;  // numpy's limit

struct NamedType {
  std::string_view name;  // without the character of the byte order
  ElementType type;
};
constexpr NamedType kTypes[] = {
    {"b1", ElementType::kBool},    {"i1", ElementType::kInt8},    {"i2", ElementType::kInt16},
    {"i4", ElementType::kInt32},   {"i8", ElementType::kInt64},   {"u1", ElementType::kUInt8},
    {"u2", ElementType::kUInt16},  {"u4", ElementType::kUInt32},  {"u8", ElementType::kUInt64},
    {"f2", ElementType::kFloat16}, {"f4", ElementType::kFloat32}, {"f8", ElementType::kFloat64},
};

// Parses the header, a Python dictionary: {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }
class HeaderParser {
 public:
  HeaderParser(std::string_view text, const std::string& prefix) : text_(text), prefix_(prefix) {}

  NpyHeader parse() {
    bool has_descr = false, has_order = false, has_shape = false;
    need('{');
    while (!take('}')) {
      const std::string key = quoted();
      need(':');
      if (key == "descr" && !has_descr) {
        has_descr = true;
        read_type();
      } else if (key == "fortran_order" && !has_order) {
        has_order = true;
        read_order();
      } else if (key == "shape" && !has_shape) {
        has_shape = true;
        read_shape();
      } else {
        refuse();
      }
      if (take(',')) continue;
      need('}');
      break;
    }
    if (!has_descr || !has_order || !has_shape) refuse();
    return header_;
  }

 private:
  [[noreturn]] void refuse() const {
    fail(Code::kDataLoss, "[B3023] " + prefix_ + "is damaged: its header cannot be read at character " +
                              std::to_string(at_) + "; save it again with numpy.save");
  }
  void skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
  }
  bool take(char c) {
    skip_space();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) refuse();
  }
  std::string quoted() {
    skip_space();
    if (at_ == text_.size() || (text_[at_] != '\'' && text_[at_] != '"')) refuse();
    const std::size_t end = text_.find(text_[at_], at_ + 1);
    if (end == std::string_view::npos) refuse();
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }

  void read_type() {
    skip_space();
    if (at_ < text_.size() && text_[at_] == '[') {
      skip_list();
      header_.refusal = "holds records of several fields; save each field as a separate array: numpy.save(f, a['x'])";
      return;
    }
    header_.descr = quoted();
    const std::string_view descr = header_.descr;
    const char order = descr.empty() ? '\0' : descr[0];
    const bool ordered = order == '<' || order == '>' || order == '|' || order == '=';
    header_.big_endian = order == '>';
    for (const NamedType& known : kTypes) {
      if (!ordered || descr.substr(1) != known.name) continue;
      header_.type = known.type;
      return;
    }
    const char kind = descr.size() > 1 ? descr[1] : '\0';
    const char* what = kind == 'O'                  ? "Python objects; save an array of numbers"
                       : kind == 'c'                ? "complex numbers; save a.real and a.imag as two arrays"
                       : kind == 'U' || kind == 'S' ? "strings; save numbers, such as the index of each in a list"
                       : kind == 'M' || kind == 'm' ? "times; save a.astype('i8')"
                                                    : "elements that are not read here; save a.astype('f4')";
    header_.refusal = "has the type '" + header_.descr + "': " + what;
  }

  // Skips a list with all its content.
  void skip_list() {
    const std::size_t begin = at_;
    int depth = 0;
    do {
      if (at_ == text_.size()) refuse();
      const char c = text_[at_];
      if (c == '\'' || c == '"') {
        quoted();
        continue;
      }
      if (c == '[') ++depth;
      if (c == ']') --depth;
      ++at_;
    } while (depth > 0);
    header_.descr = std::string(text_.substr(begin, at_ - begin));
  }

  void read_order() {
    skip_space();
    for (const bool value : {false, true}) {
      const std::string_view word = value ? "True" : "False";
      if (text_.substr(at_, word.size()) != word) continue;
      at_ += word.size();
      header_.fortran_order = value;
      return;
    }
    refuse();
  }

  void read_shape() {
    need('(');
    while (!take(')')) {
      skip_space();
      std::int64_t dim = -1;
      const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), dim);
      if (error != std::errc() || dim < 0) refuse();
      at_ = static_cast<std::size_t>(end - text_.data());
      take('L');  // Python 2 on Windows writes it
      header_.shape.push_back(dim);
      if (take(',')) continue;
      need(')');
      break;
    }
    if (header_.shape.size() > kMaxRank) refuse();
  }

  std::string_view text_;
  const std::string& prefix_;
  std::size_t at_ = 0;
  NpyHeader header_;
};

std::optional<std::uint64_t> bytes_of(const NpyHeader& header) {
  std::uint64_t bytes = element_size(header.type);
  bool empty = false;
  for (const std::int64_t dim : header.shape) {
    empty = empty || dim == 0;
    if (__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(dim == 0 ? 1 : dim), &bytes) ||
        bytes > static_cast<std::uint64_t>(std::numeric_limits<std::ptrdiff_t>::max()))
      return std::nullopt;
  }
  return empty ? 0 : bytes;
}

}  // namespace

std::size_t element_size(ElementType type) {
  switch (type) {
    case ElementType::kBool:
    case ElementType::kInt8:
    case ElementType::kUInt8: return 1;
    case ElementType::kInt16:
    case ElementType::kUInt16:
    case ElementType::kFloat16: return 2;
    case ElementType::kInt32:
    case ElementType::kUInt32:
    case ElementType::kFloat32: return 4;
    case ElementType::kInt64:
    case ElementType::kUInt64:
    case ElementType::kFloat64: return 8;
  }
  return 0;
}

std::size_t NpyHeader::elements() const {
  std::size_t n = 1;
  for (const std::int64_t dim : shape) n *= static_cast<std::size_t>(dim);
  return n;
}

NpyHeader parse_npy_header(std::string_view bytes, const std::string& prefix) {
  if (bytes.substr(0, 4) == "PK\3\4")
    fail(Code::kInvalidArgument, "[B3022] " + prefix + "is a zip archive; give an .npz file as \"file.npz:array\"");
  if (bytes.substr(0, kMagic.size()) != kMagic)
    fail(Code::kInvalidArgument,
         "[B3022] " + prefix +
             belay::foreign_text(bytes, ".npy file", "write its array with numpy.save",
                                 "is no .npy file: it does not begin with \\x93NUMPY; write it with numpy.save"));
  const auto byte = [&](std::size_t i) { return static_cast<std::size_t>(static_cast<unsigned char>(bytes[i])); };
  const std::size_t version = bytes.size() > kMagic.size() + 1 ? byte(kMagic.size()) : 0;
  const std::size_t length_bytes = version == 1 ? 2 : 4, begin = kMagic.size() + 2 + length_bytes;
  if (bytes.size() > kMagic.size() + 1 && (version < 1 || version > 3))
    fail(Code::kInvalidArgument,
         "[B3029] " + prefix + "has version " + std::to_string(version) + " of the .npy format; 1 to 3 can be read");
  std::size_t length = 0;
  for (std::size_t i = 0; bytes.size() >= begin && i < length_bytes; ++i)
    length |= byte(begin - length_bytes + i) << 8 * i;
  if (bytes.size() < begin || bytes.size() - begin < length)
    fail(Code::kDataLoss, "[B3023] " + prefix + "is cut short or damaged: it ends inside its header; save it again");
  NpyHeader header = HeaderParser(bytes.substr(begin, length), prefix).parse();
  header.data_at = begin + length;
  return header;
}

NpyHeader read_npy_header(std::string_view bytes, const std::string& prefix) {
  NpyHeader header = parse_npy_header(bytes, prefix);
  if (!header.refusal.empty()) fail(Code::kInvalidArgument, prefix + header.refusal);
  const std::optional<std::uint64_t> needed = bytes_of(header);
  const std::uint64_t found = bytes.size() - header.data_at;
  if (!needed || *needed > found)
    fail(Code::kDataLoss, "[B3023] " + prefix + "is cut short or damaged: it has " + std::to_string(found) +
                              " bytes of elements, " + belay::dims_text(header.shape) + " of '" + header.descr +
                              "' need " + (needed ? std::to_string(*needed) : "more than there can be") +
                              "; save it again");
  if (*needed < found)
    fail(Code::kDataLoss, "[B3023] " + prefix + "continues for " + std::to_string(found - *needed) +
                              " bytes after its elements: it is damaged, or several arrays were saved into one file; "
                              "save each into its own, or all by numpy.savez");
  return header;
}

}  // namespace npy_input
