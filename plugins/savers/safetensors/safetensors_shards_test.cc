// SPDX-License-Identifier: Apache-2.0
// Tests models in several files, metadata, and other readers of these files.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <random>
#include <set>

#include "belay/testing/error_of.h"
#include "belay/testing/saver_driver.h"
#include "belay/testing/temporary_folder.h"
#include "plugins/savers/saver_test.h"
#include "shard_index.h"

extern "C" const belay_module belay_module_safetensors;

namespace belay_safetensors {
namespace {

using belay::Dims;
using belay::DType;
using belay::Tensor;
using belay::testing::error_of;
using belay::testing::NamedTensors;
using belay::testing::SaverDriver;
using saver_test::of_type;

constexpr const char* kIndexName = "model.safetensors.index.json";

const belay_module& shards_module() { return belay::testing::module_under_test(belay_module_safetensors); }
SaverDriver in_shards(std::int64_t bytes) { return SaverDriver(shards_module(), {{"shard_bytes", bytes}}); }

NamedTensors some_tensors() {
  return {{"a", of_type(DType::kFloat32, {4}, 1)},     {"b", of_type(DType::kFloat32, {2, 2}, 2)},
          {"empty", of_type(DType::kFloat32, {0}, 3)}, {"large", of_type(DType::kFloat32, {40}, 4)},
          {"step", of_type(DType::kInt64, {}, 5)},     {"u8", of_type(DType::kUInt8, {3}, 6)}};
}

TEST(SafetensorsShards, HoldWhatOneFileHolds) {
  SaverDriver saver = in_shards(32);
  EXPECT_EQ(saver.difference_after_round_trip(some_tensors()), "");
  std::vector<std::string> names;
  for (const auto& [name, bytes] : saver.files().contents) names.push_back(name);
  EXPECT_EQ(names, (std::vector<std::string>{"model-00001-of-00004.safetensors", "model-00002-of-00004.safetensors",
                                             "model-00003-of-00004.safetensors", "model-00004-of-00004.safetensors",
                                             kIndexName}));
  const auto index = nlohmann::json::parse(saver.files().contents.at(kIndexName));
  EXPECT_EQ(index["metadata"]["total_size"], 8 + 16 + 16 + 160 + 3);
  EXPECT_EQ(index["weight_map"].size(), 6u);
  EXPECT_EQ(index["weight_map"]["step"], "model-00001-of-00004.safetensors");
  EXPECT_EQ(index["weight_map"]["large"], "model-00003-of-00004.safetensors");
}

TEST(SafetensorsShards, WhatFitsOneFileIsInOne) {
  SaverDriver saver = in_shards(1'000'000);
  saver.write(some_tensors());
  EXPECT_EQ(saver.files().contents.size(), 1u);
}

TEST(SafetensorsShards, TheFilesAreTheSameEachTime) {
  SaverDriver saver = in_shards(32), another = in_shards(32);
  saver.write(some_tensors());
  another.write(saver.read());
  EXPECT_EQ(another.files().contents, saver.files().contents);
}

TEST(SafetensorsShards, OnlyWantedTensorsAreRead) {
  SaverDriver saver = in_shards(32);
  saver.write(some_tensors());
  EXPECT_EQ(saver.read(std::set<std::string>{"a", "u8"}).size(), 2u);
  EXPECT_EQ(saver.announced().size(), 6u);
}

TEST(SafetensorsShards, EveryTruncationIsFound) {
  SaverDriver saver = in_shards(32);
  saver.write(some_tensors());
  const auto whole = saver.files().contents;
  for (const auto& [name, bytes] : whole) EXPECT_EQ(saver.undetected_truncation(name), "") << name;
}

TEST(SafetensorsShards, FilesAndIndexMustAgree) {
  SaverDriver saver = in_shards(32);
  saver.write(some_tensors());
  const auto whole = saver.files().contents;
  const auto after = [&](const std::function<void(nlohmann::json&)>& change) {
    auto index = nlohmann::json::parse(whole.at(kIndexName));
    change(index);
    saver.files().contents[kIndexName] = index.dump();
    return error_of([&] { saver.read(); });
  };
  EXPECT_EQ(
      after([](auto& j) { j["weight_map"].erase("step"); }),
      "DATA_LOSS: [B4040] the file \"model-00001-of-00004.safetensors\" has tensor \"step\", which the index does not "
      "have");
  EXPECT_EQ(
      after([](auto& j) { j["weight_map"]["step"] = "model-00002-of-00004.safetensors"; }),
      "DATA_LOSS: [B4040] the file \"model-00001-of-00004.safetensors\" has tensor \"step\", which the index has in "
      "\"model-00002-of-00004.safetensors\"");
  EXPECT_EQ(after([](auto& j) { j["weight_map"]["more"] = "model-00001-of-00004.safetensors"; }),
            "DATA_LOSS: [B4040] the .safetensors.index.json file has 7 tensors, its files have 6");
  saver.files().contents = whole;
  saver.files().contents.erase("model-00003-of-00004.safetensors");
  EXPECT_EQ(
      error_of([&] { saver.read(); }),
      "DATA_LOSS: [B4043] the file \"model-00003-of-00004.safetensors\" is missing, which the .safetensors.index.json "
      "file names");
  saver.files().contents = whole;
  saver.files().contents["model-00003-of-00004.safetensors"].pop_back();
  EXPECT_EQ(
      error_of([&] { saver.read(); }),
      "DATA_LOSS: the file \"model-00003-of-00004.safetensors\": the tensors need 160 bytes of data, the file has "
      "159");
}

std::string index_error(const std::string& json) {
  return error_of([&] { parse_shard_index(json); });
}

TEST(SafetensorsShards, EachRuleOfTheIndexHasItsMessage) {
  const std::string file = "DATA_LOSS: [B4040] the .safetensors.index.json file: ";
  EXPECT_EQ(
      index_error(R"({"metadata":{"total_size":1,"weight_map":[{"x":[null,true,-1.5]}]},"weight_map":{"a":"f"}})"), "");
  EXPECT_EQ(index_error(""), file + "it is no JSON at byte 0");
  EXPECT_EQ(index_error("[]"), file + "it is no object");
  EXPECT_EQ(index_error("1"), file + "it is no object");
  EXPECT_EQ(index_error("{}"), file + "it has no \"weight_map\"");
  EXPECT_EQ(index_error(R"({"weight_map":[]})"), file + "\"weight_map\" is no object");
  EXPECT_EQ(index_error(R"({"weight_map":"x"})"), file + "\"weight_map\" is no object");
  EXPECT_EQ(index_error(R"({"weight_map":{},"weight_map":{}})"), file + "\"weight_map\" is there twice");
  EXPECT_EQ(index_error(R"({"weight_map":{"a":"f","a":"f"}})"), file + "tensor \"a\" is there twice");
  for (const char* value : {"1", "null", "{}", "[]", "true", "1.5"})
    EXPECT_EQ(index_error(std::string(R"({"weight_map":{"a":)") + value + "}}"),
              file + "tensor \"a\" has something else than the name of a file");
  for (const char* name : {"", "/etc/passwd", "..", ".", "a/b", "c:x", "a\\\\b", "a\\u0000"})
    EXPECT_NE(index_error(std::string(R"({"weight_map":{"a":")") + name + "\"}}").find("no file beside the index"),
              std::string::npos)
        << name;
}

TEST(SafetensorsShards, RandomDamageOfTheIndexNeverCrashes) {
  SaverDriver saver = in_shards(32);
  saver.write(some_tensors());
  const std::string whole = saver.files().contents.at(kIndexName);
  std::mt19937 random(1);
  for (int i = 0; i < 3000; ++i) {
    std::string damaged = whole;
    for (int n = static_cast<int>(random() % 4); n >= 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random() % 128);
    saver.files().contents[kIndexName] = damaged;
    error_of([&] { saver.read(); });
  }
}

TEST(SafetensorsMetadata, IsWrittenIntoTheHeader) {
  SaverDriver saver(shards_module(), {{"metadata.format", "pt"}, {"metadata.by", "belay"}});
  EXPECT_EQ(saver.difference_after_round_trip(some_tensors()), "");
  const std::string& bytes = saver.files().contents.at("model.safetensors");
  EXPECT_EQ(bytes.substr(8, 47), R"({"__metadata__":{"by":"belay","format":"pt"},"s)");
}

// The rules of the format in a dozen lines with numpy.
constexpr const char* kReader = R"(
import json, numpy, sys
types = {'F64': '<f8', 'F32': '<f4', 'F16': '<f2', 'BF16': '<u2', 'I64': '<i8', 'I32': '<i4', 'U8': 'u1', 'BOOL': '?'}
for path in sys.argv[1:]:
    data = open(path, 'rb').read()
    n = int.from_bytes(data[:8], 'little')
    for name, e in sorted(json.loads(data[8:8 + n]).items()):
        begin, end = e['data_offsets']
        a = numpy.frombuffer(data[8 + n + begin:8 + n + end], types[e['dtype']]).reshape(e['shape'])
        print(name, a.dtype.str, list(a.shape), a.tobytes().hex())
)";

TEST(SafetensorsNumpy, ReadsWhatIsWritten) {
  std::string python;
  for (const char* candidate : {"python3", "/usr/bin/python3"})
    if (std::system((std::string(candidate) + " -c 'import numpy' >/dev/null 2>&1").c_str()) == 0) python = candidate;
  if (python.empty()) GTEST_SKIP() << "python3 has no numpy; install python3-numpy";
  const belay::testing::TemporaryFolder folder;
  SaverDriver saver = in_shards(32);
  saver.write(some_tensors());
  std::ofstream(folder.path() + "/read.py") << kReader;
  std::string command = python + " -B '" + folder.path() + "/read.py'";
  for (const auto& [name, bytes] : saver.files().contents) {
    if (name == kIndexName) continue;
    std::ofstream(folder.path() + "/" + name, std::ios::binary) << bytes;
    command += " '" + folder.path() + "/" + name + "'";
  }
  const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen((command + " 2>&1").c_str(), "r"), pclose);
  std::string printed;
  std::array<char, 4096> buffer{};
  for (std::size_t n; (n = fread(buffer.data(), 1, buffer.size(), pipe.get())) > 0;) printed.append(buffer.data(), n);
  const NamedTensors tensors = some_tensors();
  const auto line = [&](const char* name, const char* form) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string text = std::string(name) + " " + form + " ";
    for (const auto& [key, tensor] : tensors) {
      const belay::TensorView view(tensor);
      const auto* bytes = static_cast<const unsigned char*>(view.data());
      for (std::size_t i = 0; key == name && i < view.bytes(); ++i)
        text += {kDigits[bytes[i] >> 4], kDigits[bytes[i] & 15]};
    }
    return text + "\n";
  };
  EXPECT_EQ(printed, line("a", "<f4 [4]") + line("step", "<i8 []") + line("b", "<f4 [2, 2]") +
                         line("empty", "<f4 [0]") + line("large", "<f4 [40]") + line("u8", "|u1 [3]"));
}

}  // namespace
}  // namespace belay_safetensors
