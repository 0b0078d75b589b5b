// SPDX-License-Identifier: Apache-2.0
#include "npz_format.h"

#include <algorithm>

namespace npz_saver {
namespace {

using belay::DType;

struct NumpyType {
  std::string_view descr;
  DType dtype;
};
constexpr NumpyType kNumpyTypes[] = {
    {"|b1", DType::kBool},    {"|u1", DType::kUInt8},   {"<i4", DType::kInt32},   {"<i8", DType::kInt64},
    {"<f2", DType::kFloat16}, {"<f4", DType::kFloat32}, {"<f8", DType::kFloat64}, {"<V2", DType::kBFloat16},
};

}  // namespace

std::string_view descr_of(DType dtype) {
  for (const NumpyType& t : kNumpyTypes)
    if (t.dtype == dtype) return t.descr;
  return {};
}

DType dtype_of_descr(std::string_view descr) {
  const bool ordered = !descr.empty() && (descr[0] == '<' || descr[0] == '>' || descr[0] == '|');
  for (const NumpyType& t : kNumpyTypes)
    if (ordered && t.descr.substr(1) == descr.substr(1)) return t.dtype;
  return DType::kInvalid;
}

std::string npy_head(DType dtype, const belay::Dims& dims) {
  std::string text = "{'descr': '" + std::string(descr_of(dtype)) + "', 'fortran_order': False, 'shape': (";
  for (std::size_t i = 0; i < dims.size(); ++i) text += (i == 0 ? "" : ", ") + std::to_string(dims[i]);
  text += dims.size() == 1 ? ",), }" : "), }";
  constexpr std::size_t kBefore = 10;  // magic, version, length
  while ((kBefore + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string head("\x93NUMPY\1\0", 8);
  head += {static_cast<char>(text.size() & 0xff), static_cast<char>(text.size() >> 8)};
  return head + text;
}

bool is_ascii(std::string_view name) {
  return std::all_of(name.begin(), name.end(), [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

bool is_zip_name(std::string_view name) {
  constexpr std::string_view kTakenAsText = "\t\n\r";
  const auto is_control = [&](char c) {
    return static_cast<unsigned char>(c) < 0x20 && kTakenAsText.find(c) == kTakenAsText.npos;
  };
  if (!is_ascii(name) && std::any_of(name.begin(), name.end(), is_control)) return false;
  for (std::size_t i = 0; i < name.size();) {
    const auto byte = [&](std::size_t at) { return at < name.size() ? static_cast<unsigned char>(name[at]) : 0u; };
    const unsigned first = byte(i);
    const std::size_t length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
    if (first == 0 || length == 0) return false;
    unsigned code = length == 1 ? first : first & (0x7fu >> length);
    for (std::size_t k = 1; k < length; ++k) {
      if (byte(i + k) >> 6 != 2) return false;
      code = code << 6 | (byte(i + k) & 0x3f);
    }
    constexpr unsigned kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // below it a shorter form exists
    if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
    i += length;
  }
  return true;
}

}  // namespace npz_saver
