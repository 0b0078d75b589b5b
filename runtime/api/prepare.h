// SPDX-License-Identifier: Apache-2.0
// The stages of a program's run of a manifest: ManifestRun and replay(). `belay` itself prints each stage's problems
// where they are found (cli/prepare_run).
#pragma once

#include <optional>
#include <string>

#include "runtime/api/run_status.h"
#include "runtime/estimator/manifest_run.h"

namespace belay::runtime {

// A stage that failed.
struct RunFailure {
  RunStatus status;
  Code code;
  std::string message;
};

// Runs a stage.
template <class Stage>
std::optional<RunFailure> failure_of(RunPart part, const Stage& stage) {
  try {
    stage();
    return std::nullopt;
  } catch (const Error& e) {
    return RunFailure{status_of(part, e), e.code(), e.what()};
  }
}

// Plugins, inputs, graph and hooks: all that comes between the directory and the first step. What is wrong with the
// manifest is in `problems`.
std::optional<RunFailure> prepare(ManifestRun& run, Diagnostics& problems);

}  // namespace belay::runtime
