// SPDX-License-Identifier: Apache-2.0
// The output of predictions: a file that appears whole or not at all, or stdout.
//
//   const auto output = prediction_file(files, "out/predictions.jsonl");
//   output->write(bytes) ...
//   output->finish();
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "runtime/platform/files/file_system.h"

namespace belay::runtime {

class PredictionOutput {
 public:
  PredictionOutput() = default;
  PredictionOutput(const PredictionOutput&) = delete;
  PredictionOutput& operator=(const PredictionOutput&) = delete;
  // If finish() was not called, no file appears.
  virtual ~PredictionOutput() = default;

  // False: the reader is gone (`| head` has seen enough); more is not wanted, and it is no error. Any other failed
  // write throws.
  virtual bool write(std::string_view bytes) = 0;
  // Writes over written bytes. Call it only if can_rewrite().
  virtual bool can_rewrite() const noexcept { return false; }
  virtual void write_at(std::uint64_t offset, std::string_view bytes) = 0;
  virtual bool is_terminal() const noexcept { return false; }
  // Call it after the last write; false as in write(). Then the file is on the disk under its name.
  virtual bool finish() = 0;
};

// Writes NAME.tmp- and random digits in the same directory, which must exist. finish() syncs the file and renames it,
// and replaces an existing file. FAILED_PRECONDITION if `path` is not a file. A killed process leaves the file with the
// digits.
std::unique_ptr<PredictionOutput> prediction_file(FileSystem& files, const std::string& path);

// `descriptor` stays open; `name` is for errors: "stdout". Each write arrives at once, whole. The process ignores
// SIGPIPE, as cli/watch/signals does, or ends by it.
std::unique_ptr<PredictionOutput> prediction_stream(int descriptor, std::string name);

}  // namespace belay::runtime
