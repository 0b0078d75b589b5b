// SPDX-License-Identifier: Apache-2.0
// Makes a failing case as small as possible. It leaves out hooks, the start from a checkpoint, keys of the manifest,
// steps and examples. It also leaves out elements of the model's lists (its layers) and lowers the model's numbers. The
// case must still fail in the same way. It repeats until nothing more can be left out.
#pragma once

#include <functional>
#include <string>

#include "runtime/reduce/failing_case.h"

namespace belay::runtime {

struct ReductionOptions {
  // Returns true if a case fails like the whole one.
  std::function<bool(const FailingCase&)> fails;
  // Called with "hooks: 0 of 9 are needed", after each part that became smaller.
  std::function<void(const std::string&)> say;
};

// `whole` fails, and so does the result.
FailingCase reduced(FailingCase whole, const ReductionOptions& options);

}  // namespace belay::runtime
