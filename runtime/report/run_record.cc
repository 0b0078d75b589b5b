// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/run_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>

#include "belay/error.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/stored_place.h"  // path_in
#include "runtime/manifest/parse.h"
#include "runtime/monitored/run/attempt_mark.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kNotSet = "not set";

// The folder that `--from-scratch` moved aside is another run.
bool is_of_this_run(const std::string& folder) { return !folder.starts_with("before-"); }

bool is_session(const EventPoint& p, const char* kind) { return p.value.tag.empty() && p.value.kind == kind; }

// ---- curves

std::vector<Curve> curves_of(const ReadEvents& events, const std::vector<bool>& shown) {
  std::map<std::pair<std::size_t, std::string>, Curve> curves;
  Curve* last = nullptr;  // most files write one tag after the other
  for (const EventPoint& p : events.points) {
    if (p.redone || !shown[p.run] || !p.value.number) continue;
    if (last == nullptr || last->tag != p.value.tag || last->folder != events.runs[p.run])
      last = &curves.try_emplace({p.run, p.value.tag}, Curve{events.runs[p.run], p.value.tag, {}}).first->second;
    last->points.push_back({p.step, *p.value.number});
  }
  std::vector<Curve> all;
  const auto earlier = [](const CurvePoint& a, const CurvePoint& b) { return a.step < b.step; };
  for (auto& [key, curve] : curves) {
    if (!std::is_sorted(curve.points.begin(), curve.points.end(), earlier))
      std::stable_sort(curve.points.begin(), curve.points.end(), earlier);
    all.push_back(std::move(curve));
  }
  return all;
}

// ---- attempts

AttemptEnd end_of(const std::vector<const EventPoint*>& points) {
  AttemptEnd end = AttemptEnd::kWithoutAWord;
  for (const EventPoint* p : points) {
    if (is_session(*p, "stop") && end == AttemptEnd::kWithoutAWord) end = AttemptEnd::kStopped;
    if (p->value.tag != "_hparams_/session_end_info") continue;
    end = p->value.text == "success" ? AttemptEnd::kFinished : AttemptEnd::kFailed;
  }
  return end;
}

AttemptRecord attempt_of(int number, const std::vector<const EventPoint*>& points,
                         std::vector<std::int64_t>& recoveries) {
  AttemptRecord attempt;
  attempt.number = number;
  attempt.begin = points.front()->wall_time;
  bool started = false;
  for (const EventPoint* p : points) {
    attempt.begin = std::min(attempt.begin, p->wall_time);
    attempt.end = std::max(attempt.end, p->wall_time);
    const bool start = is_session(*p, "start");  // it has the number of the next step
    attempt.last_step = std::max(attempt.last_step, start ? p->step - 1 : p->step);
    if (!start) continue;
    const std::int64_t from = std::max<std::int64_t>(p->step - 1, 0);
    if (std::exchange(started, true))
      recoveries.push_back(from);
    else
      attempt.from_step = from;
  }
  attempt.how = end_of(points);
  return attempt;
}

// Reads the attempts of the training. The folders below have only evaluations.
void read_attempts(const ReadEvents& events, RunRecord& run) {
  std::map<int, std::vector<const EventPoint*>> points;
  for (const EventPoint& p : events.points)
    if (events.runs[p.run] == ".") points[p.attempt].push_back(&p);
  for (const auto& [number, of_attempt] : points)
    run.attempts.push_back(attempt_of(number, of_attempt, run.recoveries));
  for (std::size_t i = 1; i < run.attempts.size(); ++i) {
    AttemptRecord& before = run.attempts[i - 1];
    before.redone = std::max<std::int64_t>(before.last_step - run.attempts[i].from_step, 0);
  }
  if (run.running && !run.attempts.empty()) run.attempts.back().how = AttemptEnd::kRunning;
}

// Events are flushed every two minutes, but lines of metrics.jsonl every second. So this file shows better how far a
// run has come if it still runs, or was killed.
void read_last_metrics(const OpenDirectory& directory, RunRecord& run) {
  constexpr const char* kMetricsName = "metrics.jsonl";
  constexpr std::uint64_t kMostOfLastLines = std::uint64_t{1} << 16;
  if (run.attempts.empty() || !directory.exists(kMetricsName)) return;
  AttemptRecord& last = run.attempts.back();
  std::string lines;
  try {
    const auto file = directory.open(kMetricsName);
    const std::uint64_t size = file->size();
    lines.resize(std::min(size, kMostOfLastLines));
    file->read_at(size - lines.size(), lines.data(), lines.size());
  } catch (const Error&) {
    return;  // the events are still there
  }
  lines.resize(lines.rfind('\n') + 1);
  while (!lines.empty()) {
    lines.pop_back();
    const std::size_t begin = lines.rfind('\n') + 1;
    const auto line = nlohmann::json::parse(lines.substr(begin), nullptr, false);
    lines.resize(begin);
    if (!line.is_object()) continue;
    const auto step = line.find("step"), time = line.find("time");
    if (step == line.end() || time == line.end() || !step->is_number_integer() || !time->is_number()) continue;
    if (time->get<double>() < last.begin) return;  // it is of the attempt before
    last.last_step = std::max(last.last_step, step->get<std::int64_t>());
    last.end = std::max(last.end, time->get<double>());
    return;
  }
}

// ---- manifests

std::optional<ManifestValues> values_in(const OpenDirectory& directory, const std::string& name, RunRecord& run) {
  try {
    Diagnostics problems;
    // It was written with all values filled in.
    const Environment environment = [](const std::string&) { return std::optional<std::string>(); };
    const auto manifest = parse_manifest({path_in(directory.path(), name), directory.read(name, kMaxManifestBytes)}, {},
                                         environment, problems);
    if (manifest && problems.empty()) return manifest_values(*manifest);
    run.problems.push_back(
        {single_quoted(path_in(directory.path(), name)) + " is of another version or damaged; it is left out", false});
  } catch (const Error& e) {
    run.problems.push_back({std::string(e.message()) + "; it is left out", false});
  }
  return std::nullopt;
}

void add_changes(int attempt, const ManifestValues& before, const ManifestValues& now, RunRecord& run) {
  std::map<std::string, std::string> was;
  for (auto& [key, value] : keys_of(before)) was[key] = value;
  for (auto& [key, value] : keys_of(now)) {
    const auto old = was.find(key);
    if (old == was.end() || old->second != value)
      run.changes.push_back({attempt, key, old == was.end() ? kNotSet : old->second, value});
    if (old != was.end()) was.erase(old);
  }
  for (const auto& [key, value] : was) run.changes.push_back({attempt, key, value, kNotSet});
}

void read_schema(const OpenDirectory& directory, RunRecord& run) {
  try {
    if (directory.exists(kSchemaName)) run.schema = parse_schema(directory.read(kSchemaName, kMaxSchemaBytes));
  } catch (const Error& e) {
    run.problems.push_back({.text = std::string(kSchemaName) + " cannot be read: " + e.what()});
  }
}

void read_manifests(const OpenDirectory& directory, RunRecord& run) {
  constexpr std::string_view kHead = "manifest-", kTail = ".toml";
  bool any = false;
  for (const std::string& name : directory.entries()) {
    const bool numbered = name.starts_with(kHead) && name.ends_with(kTail) && name.size() > kHead.size() + kTail.size();
    if (!numbered) continue;
    const std::string digits = name.substr(kHead.size(), name.size() - kHead.size() - kTail.size());
    if (digits.size() > 9 || digits.find_first_not_of("0123456789") != digits.npos) continue;
    auto values = values_in(directory, name, run);
    if (!values) continue;
    if (any) add_changes(std::stoi(digits), run.manifest, *values, run);
    run.manifest = std::move(*values);
    any = true;
  }
  if (!any && directory.exists(kManifestName))
    if (auto values = values_in(directory, std::string(kManifestName), run)) run.manifest = std::move(*values);
}

// ---- all of it

ReadEvents events_of(FileSystem& files, const std::string& path, bool& any) {
  try {
    any = true;
    return read_events(files, path, [](const EventValue&, std::int64_t) { return true; });
  } catch (const Error& e) {
    if (e.code() != Code::kNotFound) throw;
    any = false;
    return {};
  }
}

void read_checkpoints(FileSystem& files, RunRecord& run, Logger& log) {
  run.checkpoints = list_stored(files, run.path, log);
  std::erase_if(run.checkpoints.all, [](const ListedStored& s) { return !s.is_checkpoint; });
}

}  // namespace

const char* end_text(AttemptEnd end) {
  switch (end) {
    case AttemptEnd::kFinished: return "finished";
    case AttemptEnd::kFailed: return "failed";
    case AttemptEnd::kStopped: return "stopped";
    case AttemptEnd::kRunning: return "running";
    case AttemptEnd::kWithoutAWord: break;
  }
  return "cut off";
}

RunRecord read_run(FileSystem& files, const std::string& path, Logger& log) {
  if (!files.exists(path))
    fail(Code::kNotFound,
         "[B5010] there is no " + single_quoted(path) + "; name a run's directory, which is `run.dir` of its manifest");
  if (files.status(path).kind != FileKind::kDirectory)
    fail(Code::kFailedPrecondition,
         "[B5010] " + single_quoted(path) + " is a file; name a run's directory, which is `run.dir` of its manifest");
  RunRecord run;
  run.path = path;
  const auto directory = files.open_directory(path);
  bool any = false;
  ReadEvents events = events_of(files, path, any);
  read_checkpoints(files, run, log);
  if (!any && run.checkpoints.all.empty())
    fail(Code::kNotFound, "[B5010] " + single_quoted(path) +
                              " holds neither event files (events.out.tfevents.*) nor checkpoints; name a run's "
                              "directory, which is `run.dir` of its manifest");
  run.running = directory->exists(kLockName) && directory->locked(kLockName);
  if (!run.running) run.last_words = AttemptMark::last_attempt(*directory);
  std::vector<bool> shown;
  for (const std::string& folder : events.runs) shown.push_back(is_of_this_run(folder));
  run.problems = std::move(events.problems);
  run.curves = curves_of(events, shown);
  read_attempts(events, run);
  read_last_metrics(*directory, run);
  run.redone_points = static_cast<std::size_t>(
      std::count_if(events.points.begin(), events.points.end(), [](const EventPoint& p) { return p.redone; }));
  run.pictures = read_pictures(files, path, events, shown);
  const std::vector<ModelNode> nodes = model_nodes(run.pictures.graph);
  run.layers = model_layers(nodes, find_loss(nodes));
  read_manifests(*directory, run);
  read_schema(*directory, run);
  return run;
}

const Curve* find_curve(const RunRecord& run, const std::string& name) {
  for (const Curve& c : run.curves)
    if (metric_name(c) == name) return &c;
  return nullptr;
}

std::int64_t last_step(const RunRecord& run) {
  std::int64_t last = run.attempts.empty() ? 0 : run.attempts.back().last_step;
  for (const Curve& c : run.curves)
    if (!c.points.empty()) last = std::max(last, c.points.back().step);
  if (const ListedStored* current = current_checkpoint(run)) last = std::max(last, current->step.value_or(0));
  return last;
}

std::string status_text(const RunRecord& run) {
  const std::string at = fmt::format(" at step {}", last_step(run));
  if (run.running) return "running," + at;
  if (run.attempts.empty()) return "without events of its training," + at;
  switch (run.attempts.back().how) {
    case AttemptEnd::kFinished: return "finished" + at;
    case AttemptEnd::kFailed: return "failed" + at;
    case AttemptEnd::kStopped: return "stopped" + at;
    default: return "ended without a word" + at;
  }
}

double seconds_of_attempts(const RunRecord& run) {
  double sum = 0;
  for (const AttemptRecord& a : run.attempts) sum += a.end - a.begin;
  return sum;
}

const ListedStored* current_checkpoint(const RunRecord& run) {
  for (const ListedStored& s : run.checkpoints.all)
    if (s.current) return &s;
  return nullptr;
}

std::string unsaved_text(const RunRecord& run) {
  const ListedStored* current = current_checkpoint(run);
  if (run.running || current == nullptr || !current->step) return "";
  const std::int64_t unsaved = last_step(run) - *current->step;
  return unsaved <= 0 ? "" : fmt::format(", {}{} before the end", unsaved, unsaved == 1 ? " step" : " steps");
}

const ListedStored* best_checkpoint(const RunRecord& run) {
  for (const ListedStored& s : run.checkpoints.all)
    if (s.best_rank == 1) return &s;
  return nullptr;
}

std::vector<std::pair<std::string, std::string>> keys_of(const ManifestValues& values) {
  std::vector<std::pair<std::string, std::string>> keys;
  keys.reserve(values.size());
  for (const ManifestValue& v : values) keys.emplace_back(v.section + "." + v.key, v.value);
  return keys;
}

}  // namespace belay::runtime
