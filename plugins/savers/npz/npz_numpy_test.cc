// SPDX-License-Identifier: Apache-2.0
// numpy itself reads the written files, and writes the files to read.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <sstream>

#include "belay/testing/temporary_folder.h"
#include "npz_test_files.h"

namespace npz_saver {
namespace {

class NpzNumpy : public ::testing::Test {
 protected:
  void SetUp() override {
    for (const char* python : {"python3", "/usr/bin/python3"})
      if (std::system((std::string(python) + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) python_ = python;
    if (python_.empty()) GTEST_SKIP() << "python3 has no numpy; install python3-numpy";
  }
  // Returns the output of the script.
  std::string python(const std::string& script, const std::string& argument) {
    std::ofstream(folder_.path() + "/script.py") << script;
    const std::string command = python_ + " -B '" + folder_.path() + "/script.py' '" + argument + "' 2>&1";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command.c_str(), "r"), pclose);
    std::string text;
    std::array<char, 4096> buffer{};
    for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) text.append(buffer.data(), n);
    return text;
  }
  std::string path() const { return folder_.path() + "/model.npz"; }
  belay::testing::TemporaryFolder folder_;
  std::string python_;
};

std::string hex(const belay::TensorView& view) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string text;
  const auto* bytes = static_cast<const unsigned char*>(view.data());
  for (std::size_t i = 0; i < view.bytes(); ++i) text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
  return text;
}

TEST_F(NpzNumpy, ReadsWhatIsWritten) {
  SaverDriver saver(npz_module());
  const NamedTensors tensors = {
      {"dense/bias", of_type(DType::kFloat32, {2, 3}, 1)},
      {"bf16", of_type(DType::kBFloat16, {3}, 2)},
      {"bool", of_type(DType::kBool, {4}, 3)},
      {"empty", of_type(DType::kFloat64, {0, 2}, 4)},
      {"f16", of_type(DType::kFloat16, {2, 1}, 5)},
      {"i32", of_type(DType::kInt32, {1}, 6)},
      {"scalar", of_type(DType::kInt64, {}, 7)},
      {"u8", of_type(DType::kUInt8, {5}, 8)},
      {"\xc3\xa9", of_type(DType::kFloat64, {1}, 9)},
  };
  saver.write(tensors);
  std::ofstream(path(), std::ios::binary) << saver.files().contents.at(kNpz);
  const std::string printed = python(
      "import numpy, sys\n"
      "f = numpy.load(sys.argv[1])\n"
      "for k in sorted(f.files): print(ascii(k), f[k].dtype.str, list(f[k].shape), f[k].tobytes().hex())\n",
      path());
  std::string expected;
  const std::pair<const char*, const char*> lines[] = {
      {"bf16", "'bf16' |V2 [3] "},      {"bool", "'bool' |b1 [4] "},  {"dense/bias", "'dense/bias' <f4 [2, 3] "},
      {"empty", "'empty' <f8 [0, 2] "}, {"f16", "'f16' <f2 [2, 1] "}, {"i32", "'i32' <i4 [1] "},
      {"scalar", "'scalar' <i8 [] "},   {"u8", "'u8' |u1 [5] "},      {"\xc3\xa9", "'\\xe9' <f8 [1] "}};
  for (const auto& [name, line] : lines)
    for (const auto& [key, tensor] : tensors)
      if (key == name) expected += line + hex(tensor) + "\n";
  EXPECT_EQ(printed, expected);
}

TEST_F(NpzNumpy, WritesWhatIsRead) {
  const std::string printed = python(
      "import numpy, sys\n"
      "a = numpy.arange(24, dtype='f4').reshape(2, 3, 4)\n"
      "for save in numpy.savez, numpy.savez_compressed:\n"
      "    save(sys.argv[1] if save is numpy.savez else sys.argv[1] + '.packed.npz', c=a, f=numpy.asfortranarray(a),\n"
      "         big=a.astype('>f4'), scalar=numpy.float32(5), empty=a[:0], other=a.astype('i1'))\n",
      path());
  ASSERT_EQ(printed, "");
  for (const char* more : {"", ".packed.npz"}) {
    SaverDriver saver(npz_module());
    saver.files().contents[kNpz] = read_bytes(path() + more);
    const NamedTensors found = saver.read();
    EXPECT_EQ(found.size(), 5u);
    EXPECT_EQ(saver.announced().size(), 6u);
    for (const auto& [name, tensor] : found) {
      if (name == "scalar") {
        EXPECT_EQ(belay::TensorView(tensor).scalar<float>(), 5.f);
      } else if (name == "empty") {
        EXPECT_EQ(tensor.dims(), (Dims{0, 3, 4}));
      } else {
        EXPECT_EQ(tensor.dims(), (Dims{2, 3, 4}));
        for (std::size_t i = 0; i < 24; ++i)
          EXPECT_EQ(belay::TensorView(tensor).data<const float>()[i], static_cast<float>(i)) << name;
      }
    }
  }
}

}  // namespace
}  // namespace npz_saver
