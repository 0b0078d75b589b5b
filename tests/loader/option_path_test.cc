// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/options/option_path.h"

#include <gtest/gtest.h>

namespace belay::runtime {
namespace {

TEST(OptionPath, N_01b_APathMatchesTheKeysOfEachElementAndOfAnyName) {
  const struct {
    const char* name;
    const char* key;
    const char* table;  // null: it does not match
  } cases[] = {
      {"layers[].units", "layers.0.units", "layers.0"},
      {"layers[].units", "layers.12.units", "layers.12"},
      {"layers[].units", "layers.units", nullptr},
      {"layers[].units", "layers.x.units", nullptr},
      {"layers[].units", "layers.0.unit", nullptr},
      {"layers[].units", "layers.0.units.x", nullptr},
      {"layers[].units", "layers.0", nullptr},
      {"layers[].units", "layer.0.units", nullptr},
      {"features.*.dtype", "features.x.dtype", "features.x"},
      {"features.*.dtype", "features.image/png.0.dtype", "features.image/png.0"},
      {"features.*.dtype", "features.dtype.dtype", "features.dtype"},
      {"features.*.dtype", "features.dtype", nullptr},
      {"names.*", "names.dense/kernel", "names"},
      {"names.*", "names.a.b.c", "names"},
      {"names.*", "names", nullptr},
      {"a.b[].*.c[].d", "a.b.0.x.c.1.d", "a.b.0.x.c.1"},
      {"a.b[].*.c[].d", "a.b.0.c.1.d", nullptr},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(std::string(c.name) + " " + c.key);
    EXPECT_EQ(path_matches(c.name, c.key), c.table != nullptr);
    if (c.table != nullptr) {
      EXPECT_EQ(table_of_key(c.name, c.key), c.table);
    }
  }
}

}  // namespace
}  // namespace belay::runtime
