// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/openmp_runtimes.h"

#include <link.h>

#include <algorithm>
#include <filesystem>

namespace belay::runtime {
namespace {

bool is_openmp_runtime(const std::string& file) {
  for (const char* name : {"libgomp.so", "libgomp-", "libomp.so", "libomp-", "libiomp5.so"})
    if (file.rfind(name, 0) == 0) return true;
  return false;
}

int add_if_openmp(dl_phdr_info* library, std::size_t, void* found) {
  const std::string path = library->dlpi_name == nullptr ? "" : library->dlpi_name;
  if (is_openmp_runtime(std::filesystem::path(path).filename().string()))
    static_cast<std::vector<std::string>*>(found)->push_back(path);
  return 0;
}

}  // namespace

std::vector<std::string> loaded_openmp_runtimes() {
  std::vector<std::string> found;
  ::dl_iterate_phdr(&add_if_openmp, &found);
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace belay::runtime
