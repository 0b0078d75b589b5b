// SPDX-License-Identifier: Apache-2.0
// Reads TensorFlow's checkpoints and compares names, shapes, types and known values.
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "bundle_index.h"
#include "bundle_test_files.h"
#include "dtypes.h"

namespace tf_bundle {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

// Returns the checkpoints' prefixes.
std::vector<fs::path> sample_prefixes() {
  std::vector<fs::path> prefixes;
  for (const auto& entry : fs::recursive_directory_iterator(samples("tf_checkpoint")))
    if (entry.path().extension() == ".index") prefixes.push_back(fs::path(entry.path()).replace_extension());
  return prefixes;
}

// Puts the sample's files under the names that the plugin reads.
void put_sample(SaverDriver& saver, const fs::path& prefix) {
  saver.files().contents.clear();
  const std::string stem = prefix.filename().string() + ".";
  for (const auto& entry : fs::directory_iterator(prefix.parent_path())) {
    const std::string name = entry.path().filename().string();
    if (name.rfind(stem + "index", 0) == 0 || name.rfind(stem + "data-", 0) == 0)
      saver.files().contents["model." + name.substr(stem.size())] = saver_test::read_bytes(entry.path());
  }
}

json expected_of(const fs::path& prefix) {
  std::string text = saver_test::read_bytes(prefix.string() + ".expected.json");
  for (const char* no_json : {"-Infinity", "Infinity", "NaN"})
    for (std::size_t at = 0; (at = text.find(no_json, at)) != text.npos;)
      text.replace(at, std::strlen(no_json), "null");
  return json::parse(text);
}

// The samples have TensorFlow's names of types.
std::string our_name(const std::string& type) {
  const std::map<std::string, std::string> names{{"float", "float32"}, {"double", "float64"}, {"half", "float16"}};
  const auto found = names.find(type);
  return found == names.end() ? type : found->second;
}

void expect_values(const belay::TensorView& view, const json& first, const std::string& name) {
  for (std::size_t i = 0; i < first.size(); ++i) {
    if (view.dtype() == DType::kString) {
      std::string text = first[i];
      if (text.size() > 3 && text.substr(text.size() - 3) == "...") text.resize(text.size() - 3);
      // The samples write each byte as the character with that number.
      std::string shown;
      for (const char c : view.text(i)) {
        if (static_cast<unsigned char>(c) < 0x80)
          shown += c;
        else
          shown += {static_cast<char>(0xc0 | static_cast<unsigned char>(c) >> 6),
                    static_cast<char>(0x80 | (static_cast<unsigned char>(c) & 0x3f))};
      }
      EXPECT_EQ(shown.substr(0, text.size()), text) << name << " " << i;
    } else if (view.dtype() == DType::kBool) {
      EXPECT_EQ(view.data<const bool>()[i], first[i].get<bool>()) << name << " " << i;
    } else if (view.dtype() == DType::kInt64) {
      EXPECT_EQ(view.data<const std::int64_t>()[i], first[i].get<std::int64_t>()) << name << " " << i;
    } else if (!first[i].is_null()) {
      const double expected = first[i];
      EXPECT_NEAR(view.number(i), expected, std::abs(expected) * 1e-7) << name << " " << i;
    }
  }
}

class BundleSamples : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(samples("tf_checkpoint")))
      GTEST_SKIP() << "no samples at " << samples("tf_checkpoint") << "; set BELAY_SAMPLES_DIR";
  }
};

TEST_F(BundleSamples, NamesShapesTypesAndValuesAreThoseThatAreKnown) {
  int tensors = 0, unread = 0;
  for (const fs::path& prefix : sample_prefixes()) {
    SCOPED_TRACE(prefix);
    SaverDriver saver(bundle_module());
    put_sample(saver, prefix);
    const BundleIndex index = parse_index(read_table(saver.files().contents.at(kIndex)));
    std::map<std::string, const Tensor*> listed;
    for (const Tensor& t : index.tensors) listed[t.name] = &t;
    std::set<std::string> readable;
    std::size_t known = 0;
    const json expected = expected_of(prefix);
    for (const json& t : expected["tensors"]) {
      if (!t.contains("name")) continue;  // a slice
      ++known;
      const std::string name = t["name"];
      ASSERT_EQ(listed.count(name), 1u) << name;
      EXPECT_EQ(type_name(listed[name]->dtype), our_name(t["dtype"])) << name;
      EXPECT_EQ(listed[name]->dims, t["shape"].get<Dims>()) << name;
      if (belay_type(listed[name]->dtype) != DType::kInvalid && !t.contains("error")) readable.insert(name);
    }
    EXPECT_EQ(listed.size(), known);
    std::map<std::string, belay::Tensor> values;
    for (auto& [name, value] : saver.read(readable)) values[name] = value;
    EXPECT_EQ(values.size(), readable.size());
    EXPECT_EQ(saver.announced().size(), known);
    for (const json& t : expected["tensors"])
      if (t.contains("name") && readable.count(t["name"]) != 0)
        expect_values(values.at(t["name"]), t["first"], t["name"]);
    tensors += static_cast<int>(known);
    unread += static_cast<int>(known - readable.size());
  }
  std::printf("%d tensors, %d of them of another type or in a file that is not there\n", tensors, unread);
  EXPECT_GT(tensors, 200);
}

TEST_F(BundleSamples, AMissingShardIsNamed) {
  SaverDriver saver(bundle_module());
  put_sample(saver, samples("tf_checkpoint") / "t5_two_shards/model.ckpt-0");
  EXPECT_EQ(belay::TensorView(saver.read(std::set<std::string>{"global_step"})[0].second).scalar<std::int64_t>(), 0);
  EXPECT_EQ(error_of([&] { saver.read(std::set<std::string>{"decoder/block_000/layer_000/SelfAttention/k"}); }),
            "DATA_LOSS: [B4043] the .data-00001-of-00002 file is missing, which has tensor "
            "\"decoder/block_000/layer_000/SelfAttention/k\"");
}

// For the same tensors both files are equal to TensorFlow's, byte for byte.
TEST_F(BundleSamples, WhatIsWrittenIsWhatTensorFlowWrote) {
  const char* const prefixes[] = {"tf2onnx_regression/model", "tfx_estimator_model_dir/model.ckpt-0",
                                  "tfx_estimator_model_dir/model.ckpt-999", "tfx_estimator_model_dir/model.ckpt-1000",
                                  "serving/saved_model_counter/variables/variables"};
  for (const char* name : prefixes) {
    SaverDriver saver(bundle_module());
    put_sample(saver, samples("tf_checkpoint") / name);
    const auto original = saver.files().contents;
    saver.write(saver.read());
    EXPECT_TRUE(saver.files().contents == original) << name;
  }
}

TEST_F(BundleSamples, ATruncatedSampleIsRefusedAtEveryLength) {
  for (const char* name : {"tf2onnx_regression/model", "made/partitioned/model.ckpt-100",
                           "serving/saved_model_half_plus_two_cpu/variables/variables"}) {
    SaverDriver saver(bundle_module());
    put_sample(saver, samples("tf_checkpoint") / name);
    const auto whole = saver.files().contents;
    for (const auto& [file, bytes] : whole) EXPECT_EQ(saver.undetected_truncation(file), "") << name;
  }
}

}  // namespace
}  // namespace tf_bundle
