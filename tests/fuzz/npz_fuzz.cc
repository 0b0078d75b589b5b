// SPDX-License-Identifier: Apache-2.0
// libFuzzer target: the saver npz, given an archive or a single array.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "belay/testing/saver_driver.h"

extern "C" const belay_module belay_module_npz;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static belay::testing::SaverDriver saver(belay_module_npz);
  saver.files().contents["model.npz"].assign(reinterpret_cast<const char*>(data), size);
  try {
    saver.read();
  } catch (const belay::Error& e) {
    // Refused, which is right, except if the driver reports that a saver breaks its contract.
    if (e.code() == belay::Code::kFailedPrecondition) std::abort();
  }
  return 0;
}
