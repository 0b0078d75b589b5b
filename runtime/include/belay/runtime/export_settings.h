// SPDX-License-Identifier: Apache-2.0
// [[exporters]] of a manifest, next to the plugin's options: when an exporter writes, and how many of its exports stay.
//
//   DIR/export/NAME/1795358971/        a version: the seconds since 1970, always 10 digits and larger than existing
//   ones
//
// Settings are plain structs that hold their defaults: a manifest and a program fill the same ones.
#pragma once

#include <cstdint>
#include <string>

namespace belay::runtime {

// kFinal: once, when a training ends normally (not after an error or a signal). kLatest: after each evaluation. kBest:
// after an evaluation with a better [checkpoint] best_metric than the newest version has.
enum class ExportWhen { kFinal, kLatest, kBest };

// The effect of a failed export during a training ("latest", "best"): a warning each time, or the end of the training.
// A failed export at the end ("final") is always an error, after the last checkpoint.
enum class OnExportError { kContinue, kStop };

struct ExportSettings {
  // When a training exports; `belay export` writes with every exporter.
  ExportWhen when = ExportWhen::kFinal;
  // Number of newest versions that stay, at least 1; each export removes older ones.
  std::int64_t keep = 5;
  // Name of one of the model's signatures. Empty: "serving_default", else the only one, else a signature of all
  // predictions.
  std::string signature = {};
  OnExportError on_export_error = OnExportError::kContinue;  // `on_error` in TOML

  friend bool operator==(const ExportSettings&, const ExportSettings&) = default;
};

}  // namespace belay::runtime
