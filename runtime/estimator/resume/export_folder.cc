// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/export_folder.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/write/unfinished_directory.h"
#include "runtime/platform/files/crc32c.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::uint64_t kMaxRecordBytes = std::uint64_t{1} << 20;
constexpr std::int64_t kNanosecondsPerSecond = 1'000'000'000;
constexpr std::int64_t kWaitForOtherNs = 30 * kNanosecondsPerSecond;
constexpr std::int64_t kLookForOtherNs = kNanosecondsPerSecond / 20;

// ".1795358990.tmp-5f0c..."
bool is_hidden_version(const std::string& name) {
  return name.size() > 16 && name[0] == '.' && is_export_version(std::string_view(name).substr(1, 10)) &&
         std::string_view(name).substr(11).starts_with(".tmp-");
}

std::unique_ptr<OpenFile> lock_of(OpenDirectory& directory, Clock& clock) {
  const std::int64_t end = clock.monotonic_ns() + kWaitForOtherNs;
  std::mutex mutex;
  std::condition_variable never;
  std::unique_lock<std::mutex> waiting(mutex);
  for (;;) {
    if (std::unique_ptr<OpenFile> lock = directory.try_lock(kLockName)) return lock;
    const std::int64_t now = clock.monotonic_ns();
    if (now >= end)
      fail(Code::kFailedPrecondition,
           "[B5040] another process is writing an export into " + single_quoted(directory.path()));
    clock.wait_until(waiting, never, std::min(end, now + kLookForOtherNs));
  }
}

void write_record(OpenDirectory& directory, const ExportRecord& record) {
  const std::string text = format_export_record(record);
  const std::unique_ptr<OpenFile> file = directory.create(kExportFileName);
  file->write(text.data(), text.size());
  file->sync();
  file->close();
}

}  // namespace

std::string format_export_record(const ExportRecord& record) {
  Json json = {
      {"format", 1}, {"exporter", record.exporter}, {"model", record.model}, {"global_step", record.global_step}};
  if (record.value) json["best"] = {{"metric", record.metric}, {"value", *record.value}};
  json["files"] = Json::array();
  for (const FileEntry& f : record.files)
    json["files"].push_back({{"name", f.name}, {"length", f.length}, {"crc32c", crc_text(f.crc32c)}});
  return json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

ExportRecord parse_export_record(std::string_view text) {
  try {
    const Json json = Json::parse(text);
    ExportRecord record;
    record.exporter = json.at("exporter").get<std::string>();
    record.model = json.at("model").get<std::string>();
    record.global_step = json.at("global_step").get<std::int64_t>();
    if (const auto best = json.find("best"); best != json.end()) {
      record.metric = best->at("metric").get<std::string>();
      record.value = best->at("value").get<double>();
    }
    for (const Json& f : json.at("files")) {
      const std::optional<std::uint32_t> crc = parse_crc(f.at("crc32c").get<std::string>());
      record.files.push_back({f.at("name").get<std::string>(), f.at("length").get<std::uint64_t>(), crc.value_or(0)});
    }
    return record;
  } catch (const Json::exception& e) {
    fail(Code::kDataLoss, fmt::format("[B5041] {} is not what belay writes: {}", kExportFileName, e.what()));
  }
}

bool is_export_version(std::string_view name) noexcept {
  return name.size() == 10 && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

ExportFolder::ExportFolder(std::unique_ptr<OpenDirectory> directory, Clock& clock, Logger& log)
    : clock_(clock), log_(log), directory_(std::move(directory)), lock_(lock_of(*directory_, clock)) {
  for (const std::string& name : directory_->entries())
    if (is_hidden_version(name)) remove(name, name);
}

ExportFolder::~ExportFolder() = default;

std::vector<std::string> ExportFolder::versions() const {
  std::vector<std::string> found;
  for (const std::string& name : directory_->entries())
    if (is_export_version(name) && directory_->status(name).kind == FileKind::kDirectory) found.push_back(name);
  return found;
}

std::optional<ExportRecord> ExportFolder::read(const std::string& version) const {
  try {
    return parse_export_record(directory_->open_directory(version)->read(kExportFileName, kMaxRecordBytes));
  } catch (const Error& e) {
    log_.warning("export", single_quoted(directory_->path() + "/" + version) + " cannot be read: " + e.what());
    return std::nullopt;
  }
}

std::optional<ExportRecord> ExportFolder::newest_best(const std::string& metric) const {
  std::vector<std::string> all = versions();
  for (; !all.empty(); all.pop_back()) {
    std::optional<ExportRecord> record = read(all.back());
    if (record && record->value && record->metric == metric) return record;
  }
  return std::nullopt;
}

std::string ExportFolder::next_version() const {
  std::int64_t next = clock_.wall_ns() / kNanosecondsPerSecond;
  if (next < 0) {
    log_.warning("export",
                 "the machine's clock is wrong: it shows a time before 1970 or after 2262. Exports in " +
                     single_quoted(directory_->path()) +
                     " are numbered from 1 and not by their seconds; set the clock (timedatectl set-ntp true)");
    next = 1;
  }
  for (const std::string& name : directory_->entries())
    if (is_export_version(name)) next = std::max(next, static_cast<std::int64_t>(std::stoll(name)) + 1);
  return fmt::format("{:010}", next);
}

std::string ExportFolder::add(const std::function<ExportRecord(OpenDirectory&)>& write) {
  const std::string version = next_version();
  UnfinishedDirectory unfinished(*directory_, version, hidden_name(version), log_);
  write_record(unfinished.directory(), write(unfinished.directory()));
  unfinished.place("");
  return directory_->path() + "/" + version;
}

// Renames it to the hidden name first, so a half removed version is no version any more.
void ExportFolder::remove(const std::string& version, const std::string& hidden) {
  try {
    if (version != hidden) directory_->rename(version, hidden);
    directory_->remove_tree(hidden);
  } catch (const Error& e) {
    log_.warning("export", "an old export stays: " + std::string(e.what()));
  }
}

void ExportFolder::collect(std::int64_t keep) {
  const std::vector<std::string> all = versions();
  for (std::size_t i = 0; i + static_cast<std::size_t>(keep) < all.size(); ++i) remove(all[i], hidden_name(all[i]));
  if (all.size() > static_cast<std::size_t>(keep)) directory_->sync();
}

}  // namespace belay::runtime
