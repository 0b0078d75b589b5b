// libFuzzer target: plugin files. Seeds: any plugins of the build tree.
#include <cstddef>
#include <cstdint>

#include "tests/fuzz/read_plugin_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  belay::runtime::read_plugin_file({reinterpret_cast<const char*>(data), size});
  return 0;
}
