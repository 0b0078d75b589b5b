// SPDX-License-Identifier: Apache-2.0
// A matrix that an evaluation found, a confusion matrix, as text for people and for programs. [any thread]
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "belay/tensor.h"

namespace belay::runtime {

// Row by row.
using Matrix = std::vector<std::vector<double>>;

// Of 128 classes. Of a larger one text names the shape alone.
constexpr std::size_t kMostMatrixNumbers = std::size_t{1} << 14;

// Of a tensor of numbers with two dimensions.
Matrix matrix_of(const TensorView& value);
bool is_too_large(const Matrix& matrix);

// "[[50,0],[3,47]]"; null where a number is not finite.
std::string matrix_json(const Matrix& matrix);
// What matrix_json wrote; empty: it is none.
Matrix parse_matrix(const std::string& json);

// One of its numbers, for people: a count has all its digits.
std::string cell_text(double number);
// The title, then rows with their numbers below each other, and the indexes around them. One line with the shape if
// that would be too wide to read. `names`: of the rows, and of as many columns, in place of the indexes.
std::vector<std::string> matrix_lines(const std::string& title, const Matrix& matrix,
                                      const std::vector<std::string>& names = {});

}  // namespace belay::runtime
