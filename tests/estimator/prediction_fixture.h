// SPDX-License-Identifier: Apache-2.0
// Predictions that no model made, and what another program reads in a file of them.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <random>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "runtime/estimator/prediction/prediction_writer.h"
#include "tests/checkpoint/checkpoint_fixture.h"  // read_file, write_file, error_of
#include "tests/platform/temp_dir.h"

namespace belay::runtime::testing {

// A batch of these tensors; the views are valid as long as the object.
class Synthetic {
 public:
  explicit Synthetic(std::vector<std::pair<std::string, Tensor>> values, Tensor id = {}) : id_(std::move(id)) {
    for (auto& [name, value] : values) {
      names_.push_back(name);
      tensors_.push_back(std::move(value));
    }
    for (const Tensor& t : tensors_) views_.emplace_back(t.view());
    batch_.names = names_;
    batch_.values = views_;
    if (id_.dtype() != DType::kInvalid) batch_.id = TensorView(id_.view());
    batch_.examples = tensors_[0].dims().empty() ? 1 : tensors_[0].dims()[0];
  }
  Synthetic(const Synthetic&) = delete;
  Synthetic& operator=(const Synthetic&) = delete;
  const Prediction& batch() const noexcept { return batch_; }

 private:
  std::vector<std::string> names_;
  std::vector<Tensor> tensors_;
  Tensor id_;
  std::vector<TensorView> views_;
  Prediction batch_;
};

inline Tensor texts(const std::vector<std::string>& values) {
  Tensor t(DType::kString, {static_cast<std::int64_t>(values.size())});
  for (std::size_t i = 0; i < values.size(); ++i) t.set_text(i, values[i]);
  return t;
}

// Any bits but NaN and infinity, denormals and both zeros among them.
template <class T, class Bits>
std::vector<T> random_floats(std::size_t n) {
  std::mt19937_64 random(7);
  std::vector<T> values = {T(0),
                           -T(0),
                           std::numeric_limits<T>::denorm_min(),
                           std::numeric_limits<T>::max(),
                           std::numeric_limits<T>::lowest(),
                           std::numeric_limits<T>::min(),
                           T(0.1),
                           T(1) / T(3)};
  while (values.size() < n) {
    auto bits = static_cast<Bits>(random());
    if (values.size() % 8 == 0) bits &= ~(Bits(1) << (sizeof(T) * 8 - 1)) >> 12;  // a denormal
    T value;
    std::memcpy(&value, &bits, sizeof(value));
    if (std::isfinite(value)) values.push_back(value);
  }
  return values;
}

// The lines that tests/estimator/read_back.py prints of a file; empty where it failed.
inline std::vector<std::string> read_back(const std::string& format, const std::string& path, const std::string& type) {
  const std::string command =
      "python3 -B " BELAY_SOURCE_DIR "/tests/estimator/read_back.py " + format + " '" + path + "' " + type;
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(::popen(command.c_str(), "r"), ::pclose);
  std::string text;
  std::array<char, 4096> part;
  for (std::size_t n; pipe != nullptr && (n = std::fread(part.data(), 1, part.size(), pipe.get())) != 0;)
    text.append(part.data(), n);
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// As read_back.py prints it.
template <class T, class Bits>
std::string bits_of(T value) {
  Bits bits;
  std::memcpy(&bits, &value, sizeof(bits));
  char text[20];
  std::snprintf(text, sizeof(text), "%0*llx", static_cast<int>(2 * sizeof(T)), static_cast<unsigned long long>(bits));
  return text;
}

class WriterTest : public ::testing::Test {
 protected:
  std::unique_ptr<PredictionWriter> to_file(PredictionFormat format, const std::string& name = "predictions",
                                            FileSystem& files = posix_file_system()) {
    return make_prediction_writer(format, prediction_file(files, dir / name), files, dir.path());
  }
  // The file's content where these batches are all.
  std::string written(PredictionFormat format, const std::vector<const Synthetic*>& batches) {
    const auto writer = to_file(format);
    for (const Synthetic* b : batches) EXPECT_TRUE(writer->write(b->batch()));
    EXPECT_TRUE(writer->finish());
    totals = writer->totals();
    return read_file(dir / "predictions");
  }

  TempDir dir;
  PredictionTotals totals;
};

}  // namespace belay::runtime::testing
