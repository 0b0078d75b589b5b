// SPDX-License-Identifier: Apache-2.0
// belay checkpoint on files by other programs, with the values that are stated of them.
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using Json = nlohmann::json;

class ForeignFilesTest : public RunTest {
 protected:
  void SetUp() override {
    const char* given = std::getenv("BELAY_SAMPLES_DIR");
    samples_ = given != nullptr ? given : BELAY_SOURCE_DIR "/../shared/samples";
    if (!std::filesystem::exists(samples_)) GTEST_SKIP() << "no samples at " << samples_ << "; set BELAY_SAMPLES_DIR";
    for (const char* saver : {"tf_bundle", "npz"})
      if (!std::filesystem::exists(tested_build() + "/plugins/" + saver + ".so"))
        GTEST_SKIP() << "needs the saver " << saver << ", which is not built";
  }
  ProcessResult run(std::vector<std::string> args) const {
    args.insert(args.begin(), "checkpoint");
    return belay(std::move(args));
  }
  Json show(const std::string& path) const {
    const ProcessResult r = run({"show", path, "--json"});
    EXPECT_EQ(r.status, 0) << r.err;
    return Json::parse(r.out, nullptr, false);
  }
  std::string sample(const std::string& name) const { return samples_ + "/" + name; }
  std::string samples_;
};

std::string belay_type(const std::string& tensorflow) {
  static const std::map<std::string, std::string> types = {
      {"float", "float32"},     {"double", "float64"}, {"int32", "int32"},   {"uint8", "uint8"}, {"int64", "int64"},
      {"bfloat16", "bfloat16"}, {"half", "float16"},   {"string", "string"}, {"bool", "bool"}};
  return types.contains(tensorflow) ? types.at(tensorflow) : "other";
}

TEST_F(ForeignFilesTest, TensorFlowsCheckpointsAreShownAsStated) {
  for (const char* name : {"tfx_estimator_model_dir/model.ckpt-0", "tfx_estimator_model_dir/model.ckpt-1000",
                           "tf2onnx_regression/model", "made/all_types/model.ckpt-7", "made/partitioned/model.ckpt-100",
                           "serving/saved_model_half_plus_two_cpu/variables/variables"}) {
    const std::string path = sample("tf_checkpoint/") + name;
    std::string text = contents(path + ".expected.json");  // with what JSON has no words for
    for (const char* word : {"-Infinity", "Infinity", "NaN"}) text = replaced(std::move(text), word, "null");
    const Json stated = Json::parse(text);
    const Json shown = show(path);
    std::map<std::string, Json> by_name;
    for (const Json& t : shown["tensors"]) by_name[t["name"]] = t;
    std::set<std::string> names;
    for (const Json& t : stated["tensors"]) {
      if (!t.contains("name")) continue;  // a slice
      names.insert(t["name"].get<std::string>());
      const Json& found = by_name[t["name"]];
      ASSERT_FALSE(found.is_null()) << name << " " << t["name"];
      EXPECT_EQ(found["shape"], t["shape"]) << name << " " << t["name"];
      EXPECT_EQ(found["dtype"], belay_type(t["dtype"])) << name << " " << t["name"];
      if (!found.contains("mean") || !t.contains("sum") || !t["sum"].is_number() || found["non_finite"] != 0) continue;
      const double sum = t["sum"].get<double>();
      EXPECT_NEAR(found["mean"].get<double>() * t["n"].get<double>(), sum, 1e-4 * (1 + std::abs(sum)))
          << name << " " << t["name"];
    }
    EXPECT_EQ(names.size(), by_name.size()) << name;
  }
}

TEST_F(ForeignFilesTest, ValuesOfOneTensorAreAsStated) {
  const ProcessResult r =
      run({"show", sample("tf_checkpoint/tfx_estimator_model_dir"), "--tensor", "dnn/hiddenlayer_0/bias", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json values = Json::parse(r.out)["values"];
  ASSERT_EQ(values.size(), 100u);
  EXPECT_FLOAT_EQ(values[0].get<float>(), -0.019179916f);
  EXPECT_FLOAT_EQ(values[3].get<float>(), 0.00315692299f);
}

TEST_F(ForeignFilesTest, TensorFlowsCheckpointGoesThroughEverySaverAndBack) {
  const std::string source = sample("tf_checkpoint/tfx_estimator_model_dir/model.ckpt-1000");
  const std::vector<std::string> copies = {temp / "a.safetensors", temp / "b.npz", temp / "c.index", temp / "d"};
  std::string from = source;
  for (const std::string& to : copies) {
    std::vector<std::string> args = {"convert", from, to};
    if (to == copies.back()) args.insert(args.end(), {"--saver", "tf_bundle"});
    const ProcessResult r = run(args);
    ASSERT_EQ(r.status, 0) << to << r.err;
    const ProcessResult diff = run({"diff", source, to});
    EXPECT_EQ(diff.status, 0) << to << diff.out << diff.err;
    EXPECT_EQ(run({"verify", to}).status, 0);
    from = to;
  }
  ASSERT_EQ(run({"convert", source, temp / "e.index"}).status, 0);
  EXPECT_EQ(contents(temp / "e.index"), contents(temp / "c.index"));
  EXPECT_EQ(contents(temp / "e.data-00000-of-00001"), contents(temp / "c.data-00000-of-00001"));
  EXPECT_EQ(show(temp / "d")["step"], 1000);
}

TEST_F(ForeignFilesTest, TypesThatBelayLacksAreLeftOutByTensor) {
  const ProcessResult r =
      run({"convert", sample("tf_checkpoint/made/all_types/model.ckpt-7"), temp / "x.npz", "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json copied = Json::parse(r.out);
  EXPECT_EQ(copied["tensors"].get<std::size_t>() + copied["left_out"].size(), 20u);
  for (const char* left_out : {"t/complex64", "t/int16", "t/string", "t/uint64"})
    EXPECT_THAT(r.err, HasSubstr("tensor '" + std::string(left_out) + "' is "));
  EXPECT_EQ(run({"verify", temp / "x.npz"}).status, 0);
}

TEST_F(ForeignFilesTest, AMissingShardIsNamed) {
  const ProcessResult r = run({"verify", sample("tf_checkpoint/t5_two_shards")});
  EXPECT_EQ(r.status, 1) << r.err;
  EXPECT_THAT(r.out, HasSubstr(".data-00001-of-00002"));
}

TEST_F(ForeignFilesTest, TheListOfATensorFlowRunHasItsCheckpoints) {
  const ProcessResult r = run({"ls", sample("tf_checkpoint/tfx_estimator_model_dir"), "--json"});
  EXPECT_EQ(r.status, 0) << r.err;
  const Json list = Json::parse(r.out);
  ASSERT_EQ(list.size(), 3u);
  EXPECT_EQ(list[2]["name"], "model.ckpt-1000");
  EXPECT_EQ(list[2]["step"], 1000);
  EXPECT_EQ(list[2]["saver"], "tf_bundle");
}

TEST_F(ForeignFilesTest, NumpysArchivesAndSafetensorsFilesAreShown) {
  const Json npz = show(sample("npy/np_stored.npz"));
  ASSERT_EQ(npz["tensors"].size(), 2u) << npz;
  EXPECT_EQ(npz["tensors"][1]["name"], "w");
  EXPECT_EQ(npz["tensors"][1]["max"], 5);
  EXPECT_EQ(show(sample("safetensors/reference_vectors/test_lifetimes.safetensors"))["tensors"][0]["shape"],
            Json::parse("[2, 2]"));
  const ProcessResult malformed = run({"verify", sample("safetensors/malformed")});
  EXPECT_EQ(malformed.status, 1);
  EXPECT_THAT(malformed.out, HasSubstr("18 looked at, 18 damaged"));
}

}  // namespace
}  // namespace belay::runtime::testing
