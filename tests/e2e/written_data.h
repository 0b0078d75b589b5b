// SPDX-License-Identifier: Apache-2.0
// Small data for models of every sort, the same each time: images as in MNIST's files, and a text.
#pragma once

#include <random>
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

}  // namespace belay::runtime::testing
