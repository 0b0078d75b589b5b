// SPDX-License-Identifier: Apache-2.0
// Small data for models of every sort, the same each time: images as in MNIST's files, a text, arrays.
#pragma once

#include <cmath>
#include <cstdint>
#include <fstream>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/belay_process.h"

namespace belay::runtime::testing {

// 240 images of 12 x 12 whose brightness is their class, as `folder`/images.idx and labels.idx.
inline void write_images(const std::string& folder) {
  constexpr unsigned char kExamples = 240, kSide = 12;
  std::mt19937 random(3);
  std::string images{0, 0, 8, 3, 0, 0, 0, static_cast<char>(kExamples), 0, 0, 0, kSide, 0, 0, 0, kSide};
  std::string labels{0, 0, 8, 1, 0, 0, 0, static_cast<char>(kExamples)};
  for (int i = 0; i < kExamples; ++i) {
    labels += static_cast<char>(i % 10);
    for (int pixel = 0; pixel < kSide * kSide; ++pixel)
      images += static_cast<char>(random() % (25u * static_cast<unsigned>(i % 10 + 1)));
  }
  write_file(folder + "/images.idx", images);
  write_file(folder + "/labels.idx", labels);
}

// Words in a seeded order, as `folder`/text.txt.
inline void write_text(const std::string& folder) {
  const std::vector<std::string> words{"the", "rate", "is", "a", "number", "of", "steps", "and", "loss\n"};
  std::mt19937 random(3);
  std::string text;
  while (text.size() < 20'000) text += words[random() % words.size()] + " ";
  write_file(folder + "/text.txt", text);
}

// The rows of a csv file of numbers with a label last, as the arrays x and y that numpy would write: features as
// float32 of mean 0 and deviation 1, labels as int64.
inline void write_arrays(const std::string& csv, const std::string& x_path, const std::string& y_path) {
  std::vector<std::vector<double>> rows;
  std::ifstream file(csv);
  std::string line, field;
  std::getline(file, line);
  while (std::getline(file, line)) {
    rows.emplace_back();
    for (std::istringstream fields(line); std::getline(fields, field, ',');) rows.back().push_back(std::stod(field));
  }
  const std::size_t width = rows[0].size() - 1;
  std::string x, y;
  std::vector<double> mean(width), square(width);
  const auto n = static_cast<double>(rows.size());
  for (const auto& row : rows)
    for (std::size_t i = 0; i < width; ++i) mean[i] += row[i] / n, square[i] += row[i] * row[i] / n;
  const auto append = [](std::string& bytes, auto value) {
    bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < width; ++i)
      append(x, static_cast<float>((row[i] - mean[i]) / std::sqrt(square[i] - mean[i] * mean[i])));
    append(y, static_cast<std::int64_t>(row[width]));
  }
  const auto npy = [](const std::string& descr, const std::string& shape, const std::string& elements) {
    const std::string header = "{'descr': '" + descr + "', 'fortran_order': False, 'shape': (" + shape + "), }\n";
    return std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + elements;
  };
  const std::string count = std::to_string(rows.size());
  write_file(x_path, npy("<f4", count + ", " + std::to_string(width), x));
  write_file(y_path, npy("<i8", count + ",", y));
}

}  // namespace belay::runtime::testing
