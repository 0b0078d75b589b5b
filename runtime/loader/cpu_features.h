// SPDX-License-Identifier: Apache-2.0
// The processor's instruction sets, by the names that notes use: those of /proc/cpuinfo.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belay/runtime/precision.h"

namespace belay::runtime {

class CpuFeatures {
 public:
  // Of this processor, as the kernel lets programs use it. Reads /proc/cpuinfo when it is first asked for a name.
  CpuFeatures() = default;
  // Of an imagined one, for tests.
  explicit CpuFeatures(std::set<std::string, std::less<>> names) : names_(std::move(names)), known_(true) {}

  // Those of `wanted` that are missing; none if the kernel does not report features.
  std::vector<std::string> missing(const std::vector<std::string>& wanted) const;

 private:
  mutable std::set<std::string, std::less<>> names_;
  mutable bool known_ = false;
};

// Why this processor cannot compute in that precision; empty: it can.
std::string why_not(Precision precision, const CpuFeatures& cpu);

}  // namespace belay::runtime
