// SPDX-License-Identifier: Apache-2.0
// A matrix from an evaluation, such as a confusion matrix, as text for people and for programs. [any thread]
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "belay/tensor.h"

namespace belay::runtime {

// The rows of the matrix.
using Matrix = std::vector<std::vector<double>>;

// Enough for 128 classes. For a larger matrix, text has only the shape.
constexpr std::size_t kMostMatrixNumbers = std::size_t{1} << 14;

// Converts a tensor of numbers with two dimensions.
Matrix matrix_of(const TensorView& value);
bool is_too_large(const Matrix& matrix);

// Returns "[[50,0],[3,47]]"; null replaces a number that is not finite.
std::string matrix_json(const Matrix& matrix);
// Parses the text of matrix_json. Empty: it is none.
Matrix parse_matrix(const std::string& json);

// Formats one of its numbers for people: a count has all its digits.
std::string cell_text(double number);
// Returns the title, then rows with aligned numbers and indexes around them. If that would be too wide to read, it is
// one line with the shape. `names` replaces the indexes of the rows, and of as many columns.
std::vector<std::string> matrix_lines(const std::string& title, const Matrix& matrix,
                                      const std::vector<std::string>& names = {});

}  // namespace belay::runtime
