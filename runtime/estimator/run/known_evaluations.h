// SPDX-License-Identifier: Apache-2.0
// The evaluations at a training's end, kept in its run directory. A start may train nothing, since the run is at its
// end already. If the weights and the data are the same, it uses the kept evaluations again.
//
//   const std::string key = evaluations_key(...);           // of what they depend on
//   if (const auto known = read_evaluations(run, key)) return *known;
//   ... evaluate ...
//   keep_evaluations(run, key, results);
//
// The file is `evaluations`, JSON on one line. A damaged file, or one of another key, counts as missing. [main]
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/estimator/run/evaluate.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

// Returns checksums of every variable's elements and of `circumstances`: manifest, data files and program, as text.
std::string evaluations_key(VariableStore& variables, std::string_view circumstances);

// Returns none if the file does not exist, cannot be read, or has another key.
std::optional<std::vector<EvaluatedInput>> read_evaluations(const OpenDirectory& run, const std::string& key);
// Keeps the results, unless a metric is not finite. Throws the errors of a write.
void keep_evaluations(OpenDirectory& run, const std::string& key, const std::vector<EvaluatedInput>& results);

}  // namespace belay::runtime
