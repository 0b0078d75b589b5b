// SPDX-License-Identifier: Apache-2.0
// The versions that one exporter has written, DIR/export/NAME:
//
//   1795358971/              a version: what the exporter wrote, and export.json, which the host writes last
//   .1795358990.tmp-5f0c...  one that is being written, or being removed
//   lock                     held while one is written
//
// A version appears whole: the files are synced, the directory is renamed to its name and its parent synced, as for a
// checkpoint. Its name is the seconds since 1970 as 10 digits, or one more than the newest one's. Only directories with
// such names are versions; everything else there is left alone. [session]
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/checkpoint/format/index.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {

inline constexpr std::string_view kExportFileName = "export.json";

// The contents of a version's export.json.
struct ExportRecord {
  std::string exporter;  // the plugin
  std::string model;
  std::int64_t global_step = 0;
  std::string metric = {};            // of an export that was the best: "eval/loss"
  std::optional<double> value = {};   // its value then
  std::vector<FileEntry> files = {};  // all but this one
};
std::string format_export_record(const ExportRecord& record);
// DATA_LOSS has the fault.
ExportRecord parse_export_record(std::string_view text);

// Whether `name` is 10 digits.
bool is_export_version(std::string_view name) noexcept;

class ExportFolder {
 public:
  // Waits while another process exports into it, for example a training beside an evaluator. FAILED_PRECONDITION after
  // half a minute. Files of a killed process are removed.
  ExportFolder(std::unique_ptr<OpenDirectory> directory, Clock& clock, Logger& log);
  ~ExportFolder();

  // The oldest first.
  std::vector<std::string> versions() const;
  // The record of the newest version that was the best by this metric; none if there is none. An unreadable record is a
  // warning.
  std::optional<ExportRecord> newest_best(const std::string& metric) const;
  // Makes a version. `write` fills the directory and returns the content of export.json. Returns the version's path.
  // After an error there is no version.
  std::string add(const std::function<ExportRecord(OpenDirectory&)>& write);
  // Removes the oldest versions until `keep` are left. A version that cannot be removed is a warning.
  void collect(std::int64_t keep);

 private:
  std::optional<ExportRecord> read(const std::string& version) const;
  std::string next_version() const;
  void remove(const std::string& version, const std::string& hidden);

  Clock& clock_;
  Logger& log_;
  std::unique_ptr<OpenDirectory> directory_;
  std::unique_ptr<OpenFile> lock_;
};

}  // namespace belay::runtime
