// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/cpu_features.h"

#include <fstream>
#include <sstream>

namespace belay::runtime {
namespace {

// Reads the first processor's line: "flags : fpu vme ..." on x86, "Features : fp asimd ..." on arm.
std::set<std::string, std::less<>> read_names() {
  std::set<std::string, std::less<>> names;
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("flags", 0) != 0 && line.rfind("Features", 0) != 0) continue;
    std::istringstream words(line.substr(line.find(':') + 1));
    for (std::string word; words >> word;) names.insert(word);
    break;
  }
  return names;
}

}  // namespace

std::vector<std::string> CpuFeatures::missing(const std::vector<std::string>& wanted) const {
  if (wanted.empty()) return {};
  if (!known_) {
    names_ = read_names();
    known_ = true;
  }
  std::vector<std::string> lacking;
  if (names_.empty()) return lacking;
  for (const std::string& name : wanted)
    if (names_.count(name) == 0) lacking.push_back(name);
  return lacking;
}

std::string why_not(Precision precision, const CpuFeatures& cpu) {
  if (precision == Precision::kFloat32 || cpu.missing({"avx512_bf16"}).empty()) return {};
  return "this processor cannot compute in bf16: it lacks avx512_bf16";
}

}  // namespace belay::runtime
