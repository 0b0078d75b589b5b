// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the saver npz, given an archive or a single array.
#include <cstddef>
#include <cstdint>
#include <string>

#include "belay/testing/saver_driver.h"

extern "C" const belay_module belay_module_npz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::testing::SaverDriver saver(belay_module_npz);
  saver.files().contents["model.npz"] = std::string(reinterpret_cast<const char*>(data), size);
  try {
    saver.read();
  } catch (const belay::Error&) {
    // Refused, which is right.
  }
  return 0;
}
