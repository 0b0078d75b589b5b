// SPDX-License-Identifier: Apache-2.0
// The evaluations at a training's end, kept in its run directory. A start may train nothing, since the run is at its
// end already. Then the weights and the data are the same, and the kept evaluations are used again.
//
//   const std::string key = evaluations_key(...);           // of what they depend on
//   if (const auto known = read_evaluations(run, key)) return *known;
//   ... evaluate ...
//   keep_evaluations(run, key, results);
//
// The file is `evaluations`, JSON on one line; one that is damaged or of another key is as if there were none. [main]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/estimator/run/evaluate.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

// Checksums of every variable's elements and of `circumstances`: manifest, data files and program, as text.
std::string evaluations_key(VariableStore& variables, std::string_view circumstances);

// None if the file is not there, cannot be read, or has another key.
std::optional<std::vector<EvaluatedInput>> read_evaluations(const OpenDirectory& run, const std::string& key);
// Nothing if a metric is not finite. Throws what a write throws.
void keep_evaluations(OpenDirectory& run, const std::string& key, const std::vector<EvaluatedInput>& results);

}  // namespace belay::runtime
