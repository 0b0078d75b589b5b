// SPDX-License-Identifier: Apache-2.0
// When an exporter writes, and how many of its exports stay. [[exporters]] of a manifest, beside the plugin's options.
//
//   DIR/export/NAME/1795358971/        a version: the seconds since 1970, always 10 digits and larger than those there
//
// Settings are plain structs that hold their defaults: a manifest and a program fill the same ones.
#pragma once

#include <cstdint>
#include <string>

namespace belay::runtime {

// kFinal: once, when a training ends as it was meant to (not after an error or a signal). kLatest: after each
// evaluation. kBest: after an evaluation whose [checkpoint] best_metric is better than that of the newest version.
enum class ExportWhen { kFinal, kLatest, kBest };

// What an export that fails does while a training goes on ("latest", "best"): it is a warning each time, or ends the
// training. One at the end ("final") that fails is always an error, behind the last checkpoint.
enum class OnExportError { kContinue, kStop };

struct ExportSettings {
  // Of a training; `belay export` writes with every exporter.
  ExportWhen when = ExportWhen::kFinal;
  // The newest versions that stay, at least 1; older ones are removed behind each export.
  std::int64_t keep = 5;
  // Of the model's signatures; empty: "serving_default", else the only one, else one of all predictions.
  std::string signature = {};
  OnExportError on_export_error = OnExportError::kContinue;  // `on_error` in TOML

  friend bool operator==(const ExportSettings&, const ExportSettings&) = default;
};

}  // namespace belay::runtime
