// SPDX-License-Identifier: Apache-2.0
// The processor's instruction sets, by the names in notes: those of /proc/cpuinfo.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "belay/runtime/precision.h"

namespace belay::runtime {

class CpuFeatures {
 public:
  // Takes this processor's, as far as the kernel lets programs use them. Reads /proc/cpuinfo at the first question.
  CpuFeatures() = default;
  // Takes an imagined processor's, for tests.
  explicit CpuFeatures(std::set<std::string, std::less<>> names) : names_(std::move(names)), known_(true) {}

  // Returns those of `wanted` that are missing; none if the kernel does not report features.
  std::vector<std::string> missing(const std::vector<std::string>& wanted) const;

 private:
  mutable std::set<std::string, std::less<>> names_;
  mutable bool known_ = false;
};

// Returns the reason why this processor cannot compute in this precision; empty: it can.
std::string why_not(Precision precision, const CpuFeatures& cpu);

}  // namespace belay::runtime
