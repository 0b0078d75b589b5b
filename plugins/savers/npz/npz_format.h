// SPDX-License-Identifier: Apache-2.0
// numpy's names of belay's types, and the header of an array. bfloat16 is no type of numpy's: it is two bytes without a
// meaning, "V2", as the packages that add it to numpy write it too.
#pragma once

#include <belay/tensor.h>

#include <string>
#include <string_view>

namespace npz_saver {

// "<f4"; empty where numpy has no such type.
std::string_view descr_of(belay::DType dtype);
// Of "<f4", ">f4" and "|u1"; kInvalid where belay does not have it.
belay::DType dtype_of_descr(std::string_view descr);

// All bytes before the elements, a multiple of 64.
std::string npy_head(belay::DType dtype, const belay::Dims& dims);

bool is_ascii(std::string_view name);
// Whether other programs read a zip's entry under that name: UTF-8 without a NUL, and without control characters beside
// characters that are not ASCII, which libzip does not open.
bool is_zip_name(std::string_view name);

}  // namespace npz_saver
