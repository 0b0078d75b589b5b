// SPDX-License-Identifier: Apache-2.0
// Reads files from numpy, and damaged ones.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "npz_format.h"
#include "npz_test_files.h"

namespace npz_saver {
namespace {

using nlohmann::json;

class NpzSamples : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(npy_samples()))
      GTEST_SKIP() << "no samples at " << npy_samples() << "; set BELAY_SAMPLES_DIR";
  }
  void put(const std::string& name) { saver_.files().contents = {{kNpz, read_bytes(npy_samples() / name)}}; }
  SaverDriver saver_{npz_module()};
};

TEST_F(NpzSamples, ShapesTypesAndValuesAreThoseThatAreKnown) {
  int files = 0, foreign = 0;
  const json expected = json::parse(read_bytes(npy_samples() / "EXPECTED.json"));
  for (const auto& [name, known] : expected.items()) {
    if (!known.is_array()) continue;
    SCOPED_TRACE(name);
    ++files;
    put(name);
    const NamedTensors found = saver_.read();
    EXPECT_EQ(saver_.announced(), (std::vector<std::string>{"arr_0"}));
    const DType dtype = dtype_of_descr(known[0].get<std::string>());
    if (dtype == DType::kInvalid) {
      ++foreign;
      EXPECT_EQ(found.size(), 0u);
      continue;
    }
    ASSERT_EQ(found.size(), 1u);
    const belay::TensorView view(found[0].second);
    EXPECT_EQ(view.dtype(), dtype);
    EXPECT_EQ(view.dims(), known[1].get<Dims>());
    for (std::size_t i = 0; i < known[3].size(); ++i) {
      const std::string text = known[3][i];
      const double value = text == "True" ? 1 : text == "False" ? 0 : std::stod(text);
      const double digits = dtype == DType::kFloat16 ? 1e-3 : 1e-6;
      EXPECT_NEAR(view.number(i), value, std::abs(value) * digits) << i;
    }
  }
  EXPECT_EQ(files, 22);
  EXPECT_EQ(foreign, 8);
}

TEST_F(NpzSamples, ArchivesAreReadStoredAndDeflated) {
  for (const auto& [name, rows, columns] :
       {std::tuple{"np_stored.npz", 2, 3}, std::tuple{"np_deflated.npz", 20, 300}}) {
    put(name);
    for (const auto& [key, tensor] : saver_.read()) {
      const belay::TensorView view(tensor);
      if (key == "b") {
        EXPECT_EQ(view.dims(), (Dims{2}));
        EXPECT_EQ(view.data<const std::int64_t>()[1], 2);
      } else {
        EXPECT_EQ(key, "w");
        EXPECT_EQ(view.dims(), (Dims{rows, columns}));
        for (std::size_t i = 0; i < view.size(); ++i) EXPECT_EQ(view.data<const float>()[i], static_cast<float>(i));
      }
    }
    EXPECT_EQ(saver_.announced().size(), 2u);
    EXPECT_EQ(saver_.undetected_truncation(kNpz), "");
  }
}

// Loading Python objects would run code.
TEST_F(NpzSamples, ObjectsRecordsAndTextsAreListedAndNotRead) {
  for (const char* name : {"np_structured.npy", "np_unicode.npy", "numpy_own_py2-objarr.npy",
                           "numpy_own_py3-objarr.npy", "numpy_own_py2-objarr.npz", "numpy_own_py3-objarr.npz"}) {
    put(name);
    EXPECT_EQ(saver_.read().size(), 0u) << name;
    ASSERT_EQ(saver_.announced().size(), 1u) << name;
    const std::string array = saver_.announced()[0];
    EXPECT_EQ(error_of([&] { saver_.read(std::set<std::string>{array}); }),
              "UNIMPLEMENTED: '" + array + "' is of a type that belay does not have");
  }
}

TEST_F(NpzSamples, DamagedFilesAreRefusedForTheirOwnReason) {
  put("bad_truncated.npy");
  EXPECT_EQ(error_of([&] { saver_.read(); }),
            "DATA_LOSS: [B4040] the .npz file: array \"arr_0\" has 43 bytes of elements; '<f4' [3, 4] has 48");
  put("bad_header_len.npy");
  EXPECT_EQ(
      error_of([&] { saver_.read(); }),
      "DATA_LOSS: [B4040] the .npz file: [B3023] array \"arr_0\" is cut short or damaged: it ends inside its header; "
      "save it again");
  put("bad_magic.npy");
  EXPECT_EQ(error_of([&] { saver_.read(); }),
            "DATA_LOSS: [B4041] the .npz file is no zip archive, or damaged: Not a zip archive");
}

}  // namespace
}  // namespace npz_saver
