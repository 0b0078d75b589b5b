// SPDX-License-Identifier: Apache-2.0
#include "dtypes.h"

namespace tf_bundle {
namespace {

struct KnownType {
  std::int32_t number;
  const char* name;
  std::uint64_t width;
};
constexpr KnownType kKnownTypes[] = {
    {1, "float32", 4},        {2, "float64", 8},
    {3, "int32", 4},          {4, "uint8", 1},
    {5, "int16", 2},          {6, "int8", 1},
    {7, "string", 0},         {8, "complex64", 8},
    {9, "int64", 8},          {10, "bool", 1},
    {11, "qint8", 1},         {12, "quint8", 1},
    {13, "qint32", 4},        {14, "bfloat16", 2},
    {15, "qint16", 2},        {16, "quint16", 2},
    {17, "uint16", 2},        {18, "complex128", 16},
    {19, "float16", 2},       {20, "resource", 0},
    {21, "variant", 0},       {22, "uint32", 4},
    {23, "uint64", 8},        {24, "float8_e5m2", 1},
    {25, "float8_e4m3fn", 1}, {26, "float8_e4m3fnuz", 1},
};

const KnownType* find_known(std::int32_t dtype) {
  for (const KnownType& t : kKnownTypes)
    if (t.number == dtype) return &t;
  return nullptr;
}

}  // namespace

std::string type_name(std::int32_t dtype) {
  const KnownType* known = find_known(dtype);
  return known != nullptr ? known->name : "type " + std::to_string(dtype);
}

std::uint64_t type_width(std::int32_t dtype) {
  const KnownType* known = find_known(dtype);
  return known != nullptr ? known->width : 0;
}

belay::DType belay_type(std::int32_t dtype) {
  // Both enums have the same numbers.
  const auto type = static_cast<belay::DType>(dtype);
  return belay::dtype_size(type) != 0 ? type : belay::DType::kInvalid;
}

}  // namespace tf_bundle
