// SPDX-License-Identifier: Apache-2.0
#include "npy_array.h"

#include <belay/testing/error_of.h>
#include <belay/testing/temporary_folder.h>
#include <gmock/gmock.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "npy_test_files.h"
#include "plugins/inputs/input_test.h"

namespace npy_input {
namespace {

using belay::DType;
using belay::testing::error_of;
using belay::testing::TemporaryFolder;
using ::testing::ElementsAre;

template <class T>
std::vector<T> row(const NpyArray& array, std::int64_t number) {
  const auto out = std::make_unique<T[]>(array.row_elements());
  array.copy_row(number, out.get());
  return std::vector<T>(out.get(), out.get() + array.row_elements());
}

class NpyArrayTest : public ::testing::Test {
 protected:
  NpyArray array(const std::string& bytes) { return NpyArray("features", folder_.write("x.npy", bytes)); }
  TemporaryFolder folder_;
};

TEST_F(NpyArrayTest, EveryTypeBecomesOneThatHoldsItsValues) {
  const auto of = [&](const std::string& descr, const auto& values) {
    return array(npy_file(descr, "(" + std::to_string(values.size()) + ",)", values));
  };
  EXPECT_EQ(of("|b1", std::vector<std::uint8_t>{0, 1}).dtype(), DType::kBool);
  EXPECT_THAT(row<bool>(of("|b1", std::vector<std::uint8_t>{0, 2}), 1), ElementsAre(true));
  EXPECT_EQ(of("|i1", std::vector<std::int8_t>{-128}).dtype(), DType::kInt32);
  EXPECT_THAT(row<std::int32_t>(of("|i1", std::vector<std::int8_t>{-128}), 0), ElementsAre(-128));
  EXPECT_EQ(of("|u1", std::vector<std::uint8_t>{255}).dtype(), DType::kUInt8);
  EXPECT_THAT(row<std::uint8_t>(of("|u1", std::vector<std::uint8_t>{255}), 0), ElementsAre(255));
  EXPECT_EQ(of("<u2", std::vector<std::uint16_t>{65535}).dtype(), DType::kInt32);
  EXPECT_THAT(row<std::int32_t>(of("<u2", std::vector<std::uint16_t>{65535}), 0), ElementsAre(65535));
  EXPECT_EQ(of("<u4", std::vector<std::uint32_t>{~0u}).dtype(), DType::kInt64);
  EXPECT_THAT(row<std::int64_t>(of("<u4", std::vector<std::uint32_t>{~0u}), 0), ElementsAre(4294967295));
  EXPECT_EQ(of("<i8", std::vector<std::int64_t>{-5}).dtype(), DType::kInt64);
  EXPECT_EQ(of("<f2", std::vector<std::uint16_t>{0x3c00}).dtype(), DType::kFloat32);
  EXPECT_THAT(row<float>(of("<f2", std::vector<std::uint16_t>{0x3c00}), 0), ElementsAre(1));
  EXPECT_EQ(of("<f8", std::vector<double>{0.1}).dtype(), DType::kFloat64);
  EXPECT_THAT(row<double>(of("<f8", std::vector<double>{0.1}), 0), ElementsAre(0.1));
  EXPECT_THAT(row<float>(of(">f4", std::vector<std::uint32_t>{0x0000803f}), 0), ElementsAre(1));
}

TEST_F(NpyArrayTest, UnsignedNumbersAboveInt64AreRefused) {
  const NpyArray big = array(npy_file<std::uint64_t>("<u8", "(2,)", {7, 1ull << 63}));
  EXPECT_THAT(row<std::int64_t>(big, 0), ElementsAre(7));
  EXPECT_THAT(row<double>(big, 1), ElementsAre(9223372036854775808.0));
  EXPECT_EQ(error_of([&] { row<std::int64_t>(big, 1); }),
            "INVALID_ARGUMENT: [B3025] features: '" + folder_.file("x.npy") +
                "' holds 9223372036854775808 in row 1, above all of int64; save a.astype('f8')");
}

TEST_F(NpyArrayTest, FortranOrderGivesTheSameRows) {
  // The array is a[i][j][k] = 100 i + 10 j + k, of shape (2, 2, 3); the first index runs fastest.
  std::string elements;
  for (int k = 0; k < 3; ++k)
    for (int j = 0; j < 2; ++j)
      for (int i = 0; i < 2; ++i) elements.push_back(static_cast<char>(100 * i + 10 * j + k));
  const NpyArray a = array(npy_bytes("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 2, 3)}", elements));
  EXPECT_THAT(row<std::uint8_t>(a, 0), ElementsAre(0, 1, 2, 10, 11, 12));
  EXPECT_THAT(row<float>(a, 1), ElementsAre(100, 101, 102, 110, 111, 112));
}

// In a shape without elements, a dimension of 2^40 is not counted out.
TEST_F(NpyArrayTest, FortranOrderOfAShapeWithoutElementsTakesNoMemory) {
  for (const char* shape : {"(0, 1099511627776)", "(3, 1099511627776, 0)"}) {
    const NpyArray a =
        array(npy_bytes("{'descr': '<i4', 'fortran_order': True, 'shape': " + std::string(shape) + "}", ""));
    EXPECT_EQ(a.header().shape[1], 1099511627776) << shape;
  }
}

TEST_F(NpyArrayTest, AFileThatIsMissingIsAnError) {
  folder_.write("x.npz", "");
  EXPECT_EQ(error_of([&] { NpyArray("features", folder_.file("y.npy")); }),
            "NOT_FOUND: [B3046] features: there is no file '" + folder_.file("y.npy") + "'");
  EXPECT_EQ(error_of([&] { NpyArray("labels", folder_.file("xx.npz:y")); }),
            "NOT_FOUND: [B3046] labels: there is no file '" + folder_.file("xx.npz") + "' (did you mean \"x.npz\"?)");
  EXPECT_EQ(error_of([&] { NpyArray("labels", folder_.write("no.npz", "some text") + ":y"); }),
            "DATA_LOSS: [B3022] labels: '" + folder_.file("no.npz") +
                "' is no .npz file, or damaged: Not a zip archive; write it with numpy.savez");
}

std::string sample(const std::string& name) { return input_test::samples_folder() + "/npy/" + name; }

// Parses a value that numpy printed; "True" is 1.
double number_of(const std::string& text) { return text == "True" ? 1 : text == "False" ? 0 : std::stod(text); }

TEST(NpySamples, HaveTheTypesShapesAndValuesThatNumpyWrote) {
  BELAY_NEEDS_SAMPLES(sample("EXPECTED.json"));
  const auto expected = nlohmann::json::parse(std::ifstream(sample("EXPECTED.json")));
  int read = 0;
  for (const auto& [name, facts] : expected.items()) {
    if (!facts.is_array() || facts[0].get<std::string>()[1] == 'c') continue;
    const NpyArray array("features", sample(name));
    EXPECT_EQ(array.header().descr, facts[0].get<std::string>()) << name;
    EXPECT_EQ(array.header().shape, facts[1].get<belay::Dims>()) << name;
    EXPECT_EQ(array.header().fortran_order, facts[2] == "F") << name;
    std::vector<double> values;
    for (std::int64_t i = 0; i < array.rows() && array.header().elements() != 0; ++i)
      for (const double value : row<double>(array, i)) values.push_back(value);
    EXPECT_EQ(values.size(), array.header().elements());
    for (std::size_t i = 0; i < facts[3].size(); ++i) {
      const double value = number_of(facts[3][i].get<std::string>());
      EXPECT_NEAR(values[i], value, 5e-4 * std::abs(value)) << name << " element " << i;
    }
    ++read;
  }
  EXPECT_EQ(read, 20);
}

TEST(NpySamples, OfNumpyItselfAreReadOrRefused) {
  BELAY_NEEDS_SAMPLES(sample("numpy_own_python3.npy"));
  for (const char* name : {"numpy_own_python3.npy", "numpy_own_win64python2.npy"}) {
    const NpyArray array("features", sample(name));
    EXPECT_EQ(array.rows(), 2);
    EXPECT_THAT(row<double>(array, 0), ElementsAre(1));
  }
  const struct {
    const char* name;
    const char* error;
  } refused[] = {
      {"np_c8.npy", "INVALID_ARGUMENT: $has the type '<c8': complex numbers; save a.real and a.imag as two arrays"},
      {"np_c16.npy", "INVALID_ARGUMENT: $has the type '<c16': complex numbers; save a.real and a.imag as two arrays"},
      {"np_structured.npy",
       "INVALID_ARGUMENT: $holds records of several fields; save each field as a separate array: numpy.save(f, "
       "a['x'])"},
      {"np_unicode.npy",
       "INVALID_ARGUMENT: $has the type '<U2': strings; save numbers, such as the index of each in a "
       "list"},
      {"numpy_own_py2-objarr.npy", "INVALID_ARGUMENT: $has the type '|O8': Python objects; save an array of numbers"},
      {"numpy_own_py3-objarr.npy", "INVALID_ARGUMENT: $has the type '|O8': Python objects; save an array of numbers"},
      {"numpy_own_py3-objarr.npz:x", "INVALID_ARGUMENT: $has the type '|O8': Python objects; save an array of numbers"},
      {"bad_magic.npy",
       "INVALID_ARGUMENT: [B3022] $is no .npy file: it does not begin with \\x93NUMPY; write it with "
       "numpy.save"},
      {"bad_header_len.npy", "DATA_LOSS: [B3023] $is cut short or damaged: it ends inside its header; save it again"},
      {"bad_truncated.npy",
       "DATA_LOSS: [B3023] $is cut short or damaged: it has 43 bytes of elements, [3, 4] of '<f4' need 48; "
       "save it again"},
  };
  for (const auto& c : refused) {
    std::string error = c.error;
    error.replace(error.find('$'), 1, "features: '" + sample(c.name) + "' ");
    EXPECT_EQ(error_of([&] { NpyArray("features", sample(c.name)); }), error);
  }
}

TEST(NpySamples, ArchivesAreReadStoredAndDeflated) {
  for (const char* name : {"np_stored.npz", "np_deflated.npz"}) {
    BELAY_NEEDS_SAMPLES(sample(name));
    const NpyArray w("features", sample(name) + std::string(":w")), b("labels", sample(name) + std::string(":b"));
    EXPECT_EQ(w.dtype(), DType::kFloat32);
    float next = 0;
    for (std::int64_t i = 0; i < w.rows(); ++i)
      for (const float value : row<float>(w, i)) EXPECT_EQ(value, next++);
    EXPECT_EQ(next, name == std::string("np_stored.npz") ? 6 : 6000);
    EXPECT_EQ(b.dtype(), DType::kInt64);
    EXPECT_THAT(row<std::int64_t>(b, 0), ElementsAre(1));
    EXPECT_THAT(row<std::int64_t>(b, 1), ElementsAre(2));
    EXPECT_EQ(error_of([&] { NpyArray("features", sample(name)); }),
              "INVALID_ARGUMENT: [B3030] features: '" + sample(name) + "' has several arrays; name one, such as \"" +
                  name + ":w\"; it has w, b");
    EXPECT_EQ(
        error_of([&] { NpyArray("features", sample(name) + std::string(":ww")); }),
        "NOT_FOUND: [B3030] features: '" + sample(name) + "' has no array \"ww\" (did you mean \"w\"?); it has w, b");
  }
}

// The archive's directory claims more than the header before the array: 7 MB deflated in a file of 1 KB.
TEST(NpySamples, AnArrayThatTheFileHasNoRoomForGetsNoMemory) {
  BELAY_NEEDS_SAMPLES(sample("np_stored.npz"));
  std::ifstream file(sample("np_stored.npz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  const std::size_t entry = bytes.find("PK\1\2");
  ASSERT_NE(entry, bytes.npos);
  constexpr std::size_t kPackedSize = 20, kSize = 24;
  const std::string packed("\0\0\x70\0", 4), unpacked("\0\0\0\xf0", 4);
  bytes.replace(entry + kPackedSize, 4, packed).replace(entry + kSize, 4, unpacked);
  TemporaryFolder folder;
  EXPECT_EQ(error_of([&] { NpyArray("features", folder.write("x.npz", bytes) + ":w"); }),
            "DATA_LOSS: [B3023] features: '" + folder.file("x.npz") +
                "' array \"w\" cannot be read: it claims to have more bytes than it can; write the file again");
}

TEST(NpySamples, ADamagedArchiveIsAnError) {
  BELAY_NEEDS_SAMPLES(sample("np_stored.npz"));
  std::ifstream file(sample("np_stored.npz"), std::ios::binary);
  std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  TemporaryFolder folder;
  std::string bad = bytes;
  bad[170] = static_cast<char>(bad[170] ^ 1);  // inside the first array's elements
  EXPECT_EQ(error_of([&] { NpyArray("features", folder.write("x.npz", bad) + ":w"); }),
            "DATA_LOSS: [B3023] features: '" + folder.file("x.npz") +
                "' array \"w\" cannot be read: CRC error; write the file again");
  for (std::size_t at = 0; at < bytes.size(); at += 3) {
    bad = bytes;
    bad[at] = static_cast<char>(bad[at] ^ 0x55);
    error_of([&] { NpyArray("features", folder.write("x.npz", bad) + ":w"); });
    error_of([&] { NpyArray("features", folder.write("x.npz", bytes.substr(0, at)) + ":w"); });
  }
}

}  // namespace
}  // namespace npy_input
