// SPDX-License-Identifier: Apache-2.0
// An array of a .npy or .npz file, row by row as elements of a tensor. A row is the part at one index of the first
// dimension.
//
// A .npy file is mapped and not read. An array of an .npz file is unpacked into memory.
#pragma once

#include <belay/mapped_file.h>

#include <cstdint>
#include <string>
#include <vector>

#include "npy_header.h"

namespace npy_input {

class NpyArray {
 public:
  // Takes "folder/x.npy", or "folder/xy.npz:x" for one array of an archive.
  NpyArray(std::string_view option, const std::string& path);

  const NpyHeader& header() const { return header_; }
  // Returns "features: 'x.npy' ", to begin an error's message.
  const std::string& prefix() const { return prefix_; }
  std::int64_t rows() const { return header_.shape.empty() ? 1 : header_.shape[0]; }
  std::size_t row_elements() const { return row_elements_; }

  // Returns the dtype that holds every value: float16 becomes float32; int8, int16 and uint16 become int32; uint32 and
  // uint64 become int64.
  belay::DType dtype() const;
  // Copies a row as T: the type of dtype(), or a wider one. INVALID_ARGUMENT: a uint64 is too large for int64. Call it
  // from any thread. T: float, double, int32, int64, uint8, bool.
  template <class T>
  void copy_row(std::int64_t row, T* out) const;

 private:
  std::string_view bytes() const {
    return unpacked_.empty() ? file_.bytes() : std::string_view(unpacked_.data(), unpacked_.size());
  }
  template <class Element, class T>
  void copy_elements(std::int64_t row, T* out) const;

  std::string prefix_;
  belay::MappedFile file_;
  std::vector<char> unpacked_;
  NpyHeader header_;
  std::size_t row_elements_ = 1;
  std::vector<std::size_t> fortran_offsets_;  // offsets of a row's elements; empty: they are contiguous
};

}  // namespace npy_input
