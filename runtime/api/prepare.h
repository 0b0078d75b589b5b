// SPDX-License-Identifier: Apache-2.0
// The stages of a program's run of a manifest, and what their errors mean: ManifestRun and replay(). `belay` itself
// prints each stage's problems where they are found (cli/prepare_run).
#pragma once

#include <optional>
#include <string>

#include "belay/runtime/run.h"
#include "runtime/estimator/manifest_run.h"
#include "runtime/loader/load_error.h"

namespace belay::runtime {

// A stage that failed.
struct RunFailure {
  RunStatus status;
  Code code;
  std::string message;
};

// Runs a stage. `status` says what its error means.
template <class Stage, class Status>
std::optional<RunFailure> failure_of(const Stage& stage, const Status& status) {
  try {
    stage();
    return std::nullopt;
  } catch (const LoadError& e) {
    return RunFailure{RunStatus::kPlugin, e.code(), e.what()};
  } catch (const Error& e) {
    return RunFailure{status(e), e.code(), e.what()};
  }
}

// Of take_directory() and open_directory().
RunStatus status_of_directory(const Error& error);

// Plugins, inputs, graph and hooks: all that comes between the directory and the first step. What is wrong with the
// manifest is in `problems`.
std::optional<RunFailure> prepare(ManifestRun& run, Diagnostics& problems);

}  // namespace belay::runtime
