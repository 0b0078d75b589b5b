// SPDX-License-Identifier: Apache-2.0
// Makes a failing case as small as it gets: the hooks, the start from a checkpoint, the keys of the manifest, the
// steps, the elements of the model's lists (its layers), the examples, and the model's numbers that are needed for it
// to fail in the same way. Goes over them again until nothing more can be left out.
#pragma once

#include <functional>
#include <string>

#include "runtime/reduce/failing_case.h"

namespace belay::runtime {

struct ReductionOptions {
  // Whether a case fails as the whole one does.
  std::function<bool(const FailingCase&)> fails;
  // "hooks: 0 of 9 are needed"; after each part that became smaller.
  std::function<void(const std::string&)> say;
};

// `whole` fails; what is returned does, too.
FailingCase reduced(FailingCase whole, const ReductionOptions& options);

}  // namespace belay::runtime
