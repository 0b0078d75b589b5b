// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <algorithm>
#include <set>

#include "npz_test_files.h"
#include "zip_reader.h"
#include "zip_writer.h"

namespace npz_saver {
namespace {

TEST(Npz, EveryTypeComesBackBitForBit) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
}

TEST(Npz, NoTensorsAreAFileToo) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(saver.difference_after_round_trip({}), "");
  EXPECT_EQ(saver.files().contents.at(kNpz).size(), 22u);
}

TEST(Npz, TheFileDoesNotDependOnTheOrderOfTheVariablesAndIsTheSameEachTime) {
  SaverDriver saver(npz_module()), another(npz_module());
  NamedTensors tensors = one_of_each();
  saver.write(tensors);
  std::reverse(tensors.begin(), tensors.end());
  another.write(tensors);
  EXPECT_EQ(another.files().contents, saver.files().contents);
}

TEST(Npz, LargeTensorsComeBackBitForBit) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(
      saver.difference_after_round_trip({{"large", of_type(DType::kFloat32, {1'300'001}, 1)},
                                         {"as long as what is read at first", of_type(DType::kUInt8, {65536 - 128}, 2)},
                                         {"one more", of_type(DType::kUInt8, {65536 - 127}, 3)}}),
      "");
}

TEST(Npz, OnlyWantedTensorsAreRead) {
  SaverDriver saver(npz_module());
  saver.write(one_of_each());
  EXPECT_EQ(saver.read(std::set<std::string>{"f64", "u8"}).size(), 2u);
  EXPECT_EQ(saver.announced().size(), one_of_each().size());
}

TEST(Npz, AMissingFileIsNotFound) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(error_of([&] { saver.read(); }), "NOT_FOUND: cannot open 'model.npz': no such file");
}

TEST(Npz, AFullDiskEndsTheWriteAtEveryByte) {
  SaverDriver saver(npz_module());
  saver.write(one_of_each());
  const std::size_t size = saver.files().contents.at(kNpz).size();
  for (std::size_t room = 0; room < size; ++room) {
    saver.files().fill_up_after(room);
    EXPECT_EQ(error_of([&] { saver.write(one_of_each()); }),
              "RESOURCE_EXHAUSTED: cannot write 'model.npz': No space left on device")
        << room;
  }
  saver.files().fill_up_after(size);
  EXPECT_EQ(saver.difference_after_round_trip(one_of_each()), "");
}

TEST(Npz, RefusesVariablesThatTheFormatCannotHold) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(error_of([&] {
              saver.write({{"words", belay::Tensor(DType::kString, {2})}});
            }),
            "UNIMPLEMENTED: [B4042] variable \"words\" is of type string, which an .npz file cannot hold");
  EXPECT_EQ(error_of([&] {
              saver.write({{"w", belay::Tensor(DType::kFloat32, Dims(33, 1))}});
            }),
            "UNIMPLEMENTED: [B4042] variable \"w\" has 33 dimensions; numpy has at most 32");
  EXPECT_EQ(error_of([&] {
              saver.write({{std::string(70'000, 'n'), belay::Tensor(1.f)}});
            }).substr(0, 17),
            "INVALID_ARGUMENT:");
  EXPECT_EQ(error_of([&] {
              saver.write({{"a\xff", belay::Tensor(1.f)}});
            }),
            "INVALID_ARGUMENT: [B4042] variable \"a\xff\" has a name that a zip archive cannot hold; rename it");
  EXPECT_EQ(error_of([&] {
              saver.write({{"\xc3\xa9\x1b", belay::Tensor(1.f)}});
            }),
            "INVALID_ARGUMENT: [B4042] variable \"\xc3\xa9\x1b\" has a name that a zip archive cannot hold; rename it");
}

TEST(Npz, NamesComeBackAsTheyAre) {
  SaverDriver saver(npz_module());
  EXPECT_EQ(saver.difference_after_round_trip({{"", belay::Tensor(1.f)},
                                               {"a\x1b[31m\x01\x1f", belay::Tensor(2.f)},
                                               {"a\t\r\n\x7f", belay::Tensor(3.f)},
                                               {"\xc3\xa9\t\xe2\x86\x90", belay::Tensor(4.f)}}),
            "");
}

// ---- by other programs ----

NamedTensors read_array(const std::string& header, const std::string& elements) {
  SaverDriver saver(npz_module());
  saver.files().contents[kNpz] = npy_of(header, elements);
  return saver.read();
}

TEST(Npz, ASingleArrayHasTheNameThatNumpyGivesIt) {
  const NamedTensors found = read_array("{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n",
                                        std::string("\0\0\x80\x3f\0\0\0\x40", 8));
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].first, "arr_0");
  EXPECT_EQ(belay::TensorView(found[0].second).data<const float>()[1], 2.f);
}

TEST(Npz, TheOtherByteOrderAndTheOtherOrderOfDimensionsAreRead) {
  const belay::Tensor big = read_array("{'descr': '>i4', 'fortran_order': False, 'shape': (2,), }\n",
                                       std::string("\0\0\1\0\xff\xff\xff\xff", 8))[0]
                                .second;
  EXPECT_EQ(belay::TensorView(big).data<const std::int32_t>()[0], 256);
  EXPECT_EQ(belay::TensorView(big).data<const std::int32_t>()[1], -1);
  // Element [i, j, k] is 100 i + 10 j + k.
  std::string elements;
  for (int k = 0; k < 4; ++k)
    for (int j = 0; j < 3; ++j)
      for (int i = 0; i < 2; ++i) elements += static_cast<char>(100 * i + 10 * j + k);
  const belay::Tensor columns =
      read_array("{'descr': '|u1', 'fortran_order': True, 'shape': (2, 3, 4), }\n", elements)[0].second;
  EXPECT_EQ(columns.dims(), (Dims{2, 3, 4}));
  const auto* at = belay::TensorView(columns).data<const std::uint8_t>();
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 3; ++j)
      for (int k = 0; k < 4; ++k) EXPECT_EQ(*at++, 100 * i + 10 * j + k);
}

TEST(Npz, TypesThatBelayDoesNotHaveAreListedAndRefusedOneByOne) {
  for (const char* descr : {"'|i1'", "'<u8'", "'<c8'", "'<U2'", "'|O'", "[('a', '<f4'), ('b', '|S3')]"}) {
    SaverDriver saver(npz_module());
    saver.files().contents[kNpz] =
        npy_of(std::string("{'descr': ") + descr + ", 'fortran_order': False, 'shape': (2,), }\n", "0123456789abcdef");
    EXPECT_EQ(saver.read().size(), 0u) << descr;
    EXPECT_EQ(saver.announced(), (std::vector<std::string>{"arr_0"})) << descr;
    EXPECT_EQ(error_of([&] { saver.read(std::set<std::string>{"arr_0"}); }),
              "UNIMPLEMENTED: 'arr_0' is of a type that belay does not have");
  }
}

// ---- zip64 ----

// Keeps small writes and counts all bytes.
struct Counting {
  std::string kept;
  std::uint64_t size = 0;

  static std::int32_t write(belay_file* file, const void* data, std::uint64_t size, belay_status*) {
    auto& self = *reinterpret_cast<Counting*>(file);
    if (size < 1 << 20) self.kept.append(static_cast<const char*>(data), static_cast<std::size_t>(size));
    self.size += size;
    return BELAY_OK;
  }
  static std::int32_t close(belay_file*, belay_status*) { return BELAY_OK; }
  static constexpr belay_files_api kTable{sizeof(belay_files_api), 0,       nullptr, nullptr,
                                          &Counting::write,        nullptr, nullptr, &Counting::close};
};

TEST(Npz, EntriesOf4GiBHaveTheLongFields) {
  constexpr std::size_t kSize = std::size_t{1} << 32;
  void* zeros = mmap(nullptr, kSize, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  ASSERT_NE(zeros, MAP_FAILED);
  Counting counting;
  belay::File file(&Counting::kTable, reinterpret_cast<belay_file*>(&counting));
  ZipWriter zip(file);
  zip.add("large", "h", zeros, kSize);
  zip.add("behind", "h", "x", 1);
  zip.finish();
  munmap(zeros, kSize);
  const auto little = [](std::uint64_t v) {
    std::string bytes;
    for (int i = 0; i < 8; ++i) bytes += static_cast<char>(v >> (8 * i));
    return bytes;
  };
  const std::string size = little(kSize + 1), part = std::string("\1\0\x10\0", 4) + size + size;
  const std::string large = std::string("\xff\xff\xff\xff\xff\xff\xff\xff\5\0\x14\0large", 17) + part + "h";
  EXPECT_EQ(counting.kept.substr(18, large.size()), large);
  const std::string offset = std::string("\1\0\x8\0", 4) + little(18 + large.size() + kSize);
  EXPECT_NE(counting.kept.find("behind" + offset), std::string::npos);
  EXPECT_NE(counting.kept.find("PK\6\6"), std::string::npos);
  EXPECT_EQ(counting.kept.substr(counting.kept.size() - 22, 4), "PK\5\6");
}

TEST(Npz, MoreThan65535EntriesAreRead) {
  constexpr std::uint64_t kEntries = 66'000;
  belay::testing::FakeHost host("test");
  belay::testing::FakeFiles files(host);
  const auto* api = static_cast<const belay_files_api*>(host.api()->service(host.raw(), belay::detail::str("files")));
  const belay::Directory directory(api, files.raw());
  {
    belay::File file = directory.create("zip");
    ZipWriter zip(file);
    for (std::uint64_t i = 0; i < kEntries; ++i) zip.add(std::to_string(i), "head", "data", 4);
    zip.finish();
    file.close();
  }
  const belay::File file = directory.open("zip");
  ZipReader zip(file);
  ASSERT_EQ(zip.count(), kEntries);
  EXPECT_EQ(zip.name(kEntries - 1), std::to_string(kEntries - 1));
  ZipReader::Entry last(zip, kEntries - 1);
  std::string bytes(8, '\0');
  last.read(bytes.data(), 8);
  last.check_end();
  EXPECT_EQ(bytes, "headdata");
}

}  // namespace
}  // namespace npz_saver
