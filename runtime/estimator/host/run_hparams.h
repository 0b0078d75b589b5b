// SPDX-License-Identifier: Apache-2.0
// A run's options in its event file: the effective manifest key by key, for TensorBoard's table of runs (hparams).
#pragma once

#include "runtime/events/event_writer.h"
#include "runtime/manifest/manifest.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

// Writes each key with its section in front, "optimizer.learning_rate". Numbers and booleans keep their type, a list is
// written as in TOML.
void write_run_hparams(EventWriter& events, const Clock& clock, const Manifest& manifest);
// Writes how the run ended.
void write_run_end(EventWriter& events, const Clock& clock, bool success);

}  // namespace belay::runtime
