// SPDX-License-Identifier: Apache-2.0
// No damage changes a value unnoticed, or does more than an error.
#include <gtest/gtest.h>

#include <random>

#include "npz_test_files.h"

namespace npz_saver {
namespace {

TEST(NpzDamage, EveryTruncationIsFound) {
  SaverDriver saver(npz_module());
  saver.write(one_of_each());
  EXPECT_EQ(saver.undetected_truncation(kNpz), "");
}

std::map<std::string, std::string> values_of(const NamedTensors& tensors) {
  std::map<std::string, std::string> values;
  for (const auto& [name, t] : tensors) {
    const belay::TensorView view(t);
    values[name] = belay::dtype_name(view.dtype()) + belay::dims_text(view.dims()) +
                   std::string(static_cast<const char*>(view.data()), view.bytes());
  }
  return values;
}

// A zip has fields without meaning for the content, such as dates.
TEST(NpzDamage, EveryFlippedBitIsFoundOrChangesNoValue) {
  const NamedTensors tensors{{"a", of_type(DType::kFloat32, {2, 3}, 1)}, {"b", of_type(DType::kInt64, {}, 2)}};
  SaverDriver saver(npz_module());
  saver.write(tensors);
  const std::string whole = saver.files().contents.at(kNpz);
  std::size_t refused = 0;
  for (std::size_t bit = 0; bit < whole.size() * 8; ++bit) {
    std::string bytes = whole;
    bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ 1 << bit % 8);
    saver.files().contents[kNpz] = bytes;
    try {
      EXPECT_EQ(values_of(saver.read()), values_of(tensors)) << "bit " << bit;
    } catch (const belay::Error& e) {
      EXPECT_EQ(e.code(), belay::Code::kDataLoss) << e.what();
      ++refused;
    }
  }
  EXPECT_GT(refused, whole.size() * 8 * 85 / 100);
}

TEST(NpzDamage, RandomDamageNeverCrashes) {
  SaverDriver saver(npz_module());
  saver.write(one_of_each());
  const std::string whole = saver.files().contents.at(kNpz);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int n = static_cast<int>(random() % 4); n >= 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    saver.files().contents[kNpz] = damaged;
    error_of([&] { saver.read(); });
  }
}

std::string refusal(const std::string& bytes) {
  SaverDriver saver(npz_module());
  saver.files().contents[kNpz] = bytes;
  return error_of([&] { saver.read(); });
}

TEST(NpzDamage, T_120_AFileOfAnotherKindIsNamed) {
  EXPECT_EQ(
      refusal("version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 9\n"),
      "DATA_LOSS: [B4041] the .npz file is a pointer of Git LFS, no .npz file: git lfs pull fetches the file itself");
  EXPECT_EQ(refusal(std::string("\x89HDF\r\n\x1a\n", 8) + std::string(100, '\0')),
            "DATA_LOSS: [B4041] the .npz file is an HDF5 file (Keras writes such), no .npz file: write its arrays with "
            "numpy.savez");
}

TEST(NpzDamage, EachRuleHasItsMessage) {
  const std::string head = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n";
  EXPECT_EQ(refusal("something else altogether"),
            "DATA_LOSS: [B4041] the .npz file is no zip archive, or damaged: Not a zip archive");
  EXPECT_EQ(refusal(npy_of(head, "1234567")),
            "DATA_LOSS: [B4040] the .npz file: array \"arr_0\" has 7 bytes of elements; '<f4' [2] has 8");
  EXPECT_EQ(refusal(npy_of(head, "123456789")),
            "DATA_LOSS: [B4040] the .npz file: array \"arr_0\" has 9 bytes of elements; '<f4' [2] has 8");
  EXPECT_EQ(
      refusal(npy_of(head, "12345678").substr(0, 40)),
      "DATA_LOSS: [B4040] the .npz file: [B3023] array \"arr_0\" is cut short or damaged: it ends inside its header; "
      "save it again");
  EXPECT_EQ(refusal(npy_of("{'descr': '|b1', 'fortran_order': False, 'shape': (2,), }\n", "\1\2")),
            "DATA_LOSS: [B4040] the .npz file: array \"arr_0\" is of booleans, but element 1 is 2");
  EXPECT_EQ(refusal(npy_of("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775807, 9), }\n", "")),
            "DATA_LOSS: [B4040] the .npz file: array \"arr_0\" has a shape whose size overflows 64 bits");
}

}  // namespace
}  // namespace npz_saver
