// SPDX-License-Identifier: Apache-2.0
// numpy's names of Belay's types, and the header of an array. numpy has no bfloat16. Its packages write it as "V2", two
// bytes without a meaning, and so does this.
#pragma once

#include <belay/tensor.h>

#include <string>
#include <string_view>

namespace npz_saver {

// Returns "<f4"; empty: numpy has no such type.
std::string_view descr_of(belay::DType dtype);
// Parses "<f4", ">f4" and "|u1"; kInvalid: Belay does not have the type.
belay::DType dtype_of_descr(std::string_view descr);

// Returns all bytes before the elements; their number is a multiple of 64.
std::string npy_head(belay::DType dtype, const belay::Dims& dims);

bool is_ascii(std::string_view name);
// True if other programs can read a zip's entry of that name. It is UTF-8 without a NUL. libzip cannot open a name with
// both control characters and characters that are not ASCII.
bool is_zip_name(std::string_view name);

}  // namespace npz_saver
