// SPDX-License-Identifier: Apache-2.0
#include "npy_header.h"

#include <belay/testing/error_of.h>
#include <gmock/gmock.h>

#include <random>

#include "npy_test_files.h"

namespace npy_input {
namespace {

using belay::testing::error_of;
using ::testing::ElementsAre;

NpyHeader read(const std::string& bytes) { return read_npy_header(bytes, "features: 'x.npy' "); }
NpyHeader read_text(const std::string& header, std::size_t element_bytes = 0) {
  return read(npy_bytes(header, std::string(element_bytes, '\0')));
}

TEST(NpyHeader, ReadsTypeOrderAndShape) {
  const NpyHeader h = read_text("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n", 48);
  EXPECT_EQ(h.descr, "<f4");
  EXPECT_EQ(h.type, ElementType::kFloat32);
  EXPECT_FALSE(h.big_endian);
  EXPECT_FALSE(h.fortran_order);
  EXPECT_THAT(h.shape, ElementsAre(3, 4));
  EXPECT_EQ(h.elements(), 12u);
  EXPECT_EQ(h.data_at, 10u + 63);
}

TEST(NpyHeader, KeysComeInAnyOrderAndSpacing) {
  const NpyHeader h = read_text("{\"shape\":(2L,3L),\"fortran_order\":True,\"descr\":\">i2\"}", 12);
  EXPECT_TRUE(h.big_endian);
  EXPECT_TRUE(h.fortran_order);
  EXPECT_EQ(h.type, ElementType::kInt16);
  EXPECT_THAT(h.shape, ElementsAre(2, 3));
  EXPECT_THAT(read_text("{'descr': '|u1', 'fortran_order': False, 'shape': (5,)}", 5).shape, ElementsAre(5));
  EXPECT_THAT(read_text("{'descr': '|b1', 'fortran_order': False, 'shape': ()}", 1).shape, ElementsAre());
  EXPECT_THAT(read_text("{'descr': '<f8', 'fortran_order': False, 'shape': (0, 3)}").shape, ElementsAre(0, 3));
}

TEST(NpyHeader, VersionsOneToThreeAreRead) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }\n";
  for (const int version : {1, 2, 3}) EXPECT_EQ(read(npy_bytes(header, "abcd", version)).elements(), 1u) << version;
  EXPECT_EQ(error_of([&] { read(npy_bytes(header, "abcd", 4)); }),
            "INVALID_ARGUMENT: [B3029] features: 'x.npy' has version 4 of the .npy format; 1 to 3 can be read");
}

TEST(NpyHeader, TypesThatAreNoNumbersSayWhatToSave) {
  const struct {
    const char* descr;
    const char* error;
  } cases[] = {
      {"'|O'", "has the type '|O': Python objects; save an array of numbers"},
      {"'<c8'", "has the type '<c8': complex numbers; save a.real and a.imag as two arrays"},
      {"'<U2'", "has the type '<U2': strings; save numbers, such as the index of each in a list"},
      {"'|S7'", "has the type '|S7': strings; save numbers, such as the index of each in a list"},
      {"'<M8[ns]'", "has the type '<M8[ns]': times; save a.astype('i8')"},
      {"'<f16'", "has the type '<f16': elements that are not read here; save a.astype('f4')"},
      {"'f4'", "has the type 'f4': elements that are not read here; save a.astype('f4')"},
      {"''", "has the type '': elements that are not read here; save a.astype('f4')"},
      {"[('a', '<i4')]", "holds records of several fields; save each field as a separate array: numpy.save(f, a['x'])"},
  };
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] {
                read_text(std::string("{'descr': ") + c.descr + ", 'fortran_order': False, 'shape': (1,), }");
              }),
              std::string("INVALID_ARGUMENT: features: 'x.npy' ") + c.error);
}

TEST(NpyHeader, DamageIsTold) {
  const std::string header = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }\n",
                    prefix = "features: 'x.npy' ";
  const std::string good = npy_bytes(header, std::string(48, '\0'));
  const struct {
    std::string bytes;
    std::string error;
  } cases[] = {
      {"", "INVALID_ARGUMENT: [B3022] " + prefix +
               "is no .npy file: it does not begin with \\x93NUMPY; write it with numpy.save"},
      {"PK\3\4", "INVALID_ARGUMENT: [B3022] " + prefix + "is a zip archive; give an .npz file as \"file.npz:array\""},
      {good.substr(0, 6),
       "DATA_LOSS: [B3023] " + prefix + "is cut short or damaged: it ends inside its header; save it again"},
      {good.substr(0, 9),
       "DATA_LOSS: [B3023] " + prefix + "is cut short or damaged: it ends inside its header; save it again"},
      {good.substr(0, 30),
       "DATA_LOSS: [B3023] " + prefix + "is cut short or damaged: it ends inside its header; save it again"},
      {good.substr(0, good.size() - 1),
       "DATA_LOSS: [B3023] " + prefix +
           "is cut short or damaged: it has 47 bytes of elements, [3, 4] of '<f4' need 48; save it again"},
      {npy_bytes("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}", ""),
       "DATA_LOSS: [B3023] " + prefix +
           "is cut short or damaged: it has 0 bytes of elements, [4294967296, 4294967296] of '<f4' need more than "
           "there can be; save it again"},
  };
  for (const auto& c : cases) EXPECT_EQ(error_of([&] { read(c.bytes); }), c.error);
  for (const char* bad :
       {"", "{", "{}", "{'descr': '<f4', 'shape': (1,)}", "{'descr': '<f4', 'descr': '<f4'}", "{'fortran_order': no}",
        "{'shape': (-1,)}", "{'shape': (1 2)}", "{'shape': 3}", "{'other': 1}"})
    EXPECT_THAT(error_of([&] { read_text(bad); }),
                ::testing::MatchesRegex(
                    "DATA_LOSS: \\[B3023\\] features: 'x.npy' is damaged: its header cannot be read at character "
                    "[0-9]+; save it again with numpy.save"))
        << bad;
}

TEST(NpyHeader, T_62e_BytesBehindTheElementsAreRefused) {
  const std::string good = npy_file<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  EXPECT_EQ(error_of([&] { read(good); }), "");
  for (const std::string& more : {std::string("x"), std::string(1, '\0'), good})
    EXPECT_EQ(error_of([&] { read(good + more); }),
              "DATA_LOSS: [B3023] features: 'x.npy' continues for " + std::to_string(more.size()) +
                  " bytes after its elements: it is damaged, or several arrays were saved into one file; save each "
                  "into its own, or all by numpy.savez");
  const std::string nothing = npy_file<float>("<f4", "(0, 3)", {});
  EXPECT_EQ(error_of([&] { read(nothing); }), "");
  EXPECT_NE(error_of([&] { read(nothing + "x"); }), "");
}

TEST(NpyHeader, GarbageIsAnErrorAndNeverACrash) {
  const std::string good = npy_file<float>("<f4", "(2, 3)", {1, 2, 3, 4, 5, 6});
  std::mt19937 random(13);
  for (int round = 0; round < 20000; ++round) {
    std::string bytes = good;
    for (int i = 0; i < 3; ++i) bytes[random() % bytes.size()] = static_cast<char>(random());
    error_of([&] { read(bytes.substr(0, random() % (bytes.size() + 1))); });
  }
}

}  // namespace
}  // namespace npy_input
