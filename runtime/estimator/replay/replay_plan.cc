// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/replay/replay_plan.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <map>
#include <nlohmann/json.hpp>
#include <string_view>
#include <system_error>

#include "belay/state_digest.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using nlohmann::json;

constexpr const char* kHistoryFile = "metrics.jsonl";

// The members of a line of metrics.jsonl that are read.
struct LineFields {
  std::optional<std::int64_t> step, attempt;
  std::string event, digest;
};

// The fields of an object of plain numbers and of strings without blanks and escapes: hooks write such lines. For a
// million lines this is much cheaper than JSON. False: the line is something else.
class FlatLine {
 public:
  explicit FlatLine(std::string_view line) : left_(line) {}

  bool read(LineFields& fields) {
    if (!take("{")) return false;
    for (;;) {
      std::string_view name, value;
      if (!text(name) || !take(":")) return false;
      const bool quoted = left_.starts_with('"');
      if (!(quoted ? text(value) : word(value))) return false;
      if (name == "step") fields.step = quoted ? std::nullopt : integer(value);
      if (name == "attempt") fields.attempt = quoted ? std::nullopt : integer(value);
      if (name == "event") fields.event = quoted ? value : "";
      if (name == "state_digest") fields.digest = quoted ? value : "";
      if (take("}")) return left_.empty();
      if (!take(",")) return false;
    }
  }

 private:
  bool take(std::string_view expected) {
    const bool there = left_.starts_with(expected);
    if (there) left_.remove_prefix(expected.size());
    return there;
  }
  bool text(std::string_view& found) {
    if (!take("\"")) return false;
    const std::size_t end = left_.find('"');
    if (end == left_.npos) return false;
    found = left_.substr(0, end);
    left_.remove_prefix(end + 1);
    return found.find('\\') == found.npos;
  }
  // A number, true, false or null.
  bool word(std::string_view& found) {
    found = left_.substr(0, std::min(left_.find_first_of(",}"), left_.size()));
    left_.remove_prefix(found.size());
    return !found.empty() && found.find_first_of("{[ \t\"") == found.npos;
  }
  static std::optional<std::int64_t> integer(std::string_view word) {
    std::int64_t number = 0;
    const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), number);
    return error == std::errc() && end == word.data() + word.size() ? std::optional(number) : std::nullopt;
  }

  std::string_view left_;
};

std::optional<std::int64_t> number_of(const json& line, const char* key) {
  const auto found = line.find(key);
  if (found == line.end() || !found->is_number_integer()) return std::nullopt;
  return found->get<std::int64_t>();
}

std::string string_of(const json& line, const char* key) {
  const auto found = line.find(key);
  return found == line.end() || !found->is_string() ? std::string() : found->get<std::string>();
}

// None: the line is no object.
std::optional<LineFields> fields_of(std::string_view text) {
  LineFields fields;
  if (FlatLine(text).read(fields)) return fields;
  const json line = json::parse(text, nullptr, false);
  if (!line.is_object()) return std::nullopt;
  return LineFields{number_of(line, "step"), number_of(line, "attempt"), string_of(line, "event"),
                    string_of(line, "state_digest")};
}

}  // namespace

std::map<std::int64_t, std::string> checkpoints_of(const OpenDirectory& run) {
  std::map<std::int64_t, std::string> names;
  const std::string basename = basename_in(run);
  for (const std::string& entry : run.entries())
    if (const auto step = step_of_checkpoint(entry, basename)) names[*step] = entry;
  return names;
}

namespace {

std::string manifest_name(std::int64_t attempt) {
  const std::string number = std::to_string(attempt);
  return "manifest-" + std::string(number.size() < 4 ? 4 - number.size() : 0, '0') + number + ".toml";
}

std::unique_ptr<CheckpointReader> whole(const OpenDirectory& run, const std::string& name, Logger& log) {
  std::string reason;
  std::unique_ptr<CheckpointReader> reader = open_if_whole(run, name, reason);
  if (reader == nullptr) log.warning("", single_quoted(run.path() + "/" + name) + " is passed over: " + reason);
  return reader;
}

void take_start(const OpenDirectory& run, const std::map<std::int64_t, std::string>& checkpoints, ReplayPlan& plan,
                Logger& log) {
  for (auto it = checkpoints.lower_bound(plan.first); it != checkpoints.begin() && plan.checkpoint == nullptr;)
    plan.checkpoint = whole(run, (--it)->second, log);
  if (plan.checkpoint != nullptr) return;
  const std::string first = checkpoints.empty() ? "it has none" : "its first one is " + checkpoints.begin()->second;
  fail(Code::kNotFound,
       fmt::format(
           "[B5011] {} has no whole checkpoint before step {}; {}. [checkpoint] keep_every_steps keeps some for good",
           single_quoted(run.path()), plan.first, first));
}

void take_proof(const OpenDirectory& run, const std::map<std::int64_t, std::string>& checkpoints,
                const RunHistory& history, ReplayPlan& plan, Logger& log) {
  for (auto it = checkpoints.lower_bound(plan.last); it != checkpoints.end() && plan.proof == nullptr; ++it)
    plan.proof = whole(run, it->second, log);
  for (const StepDigest& d : history.digests) {
    if (d.step < plan.last || plan.digest) continue;
    if (plan.proof == nullptr || d.step < plan.proof->state().global_step) plan.digest = d;
  }
  if (plan.digest) plan.proof.reset();
}

void take_manifest(const OpenDirectory& run, const RunHistory& history, ReplayPlan& plan, Logger& log) {
  const auto take = [&](const std::string& name) {
    if (!run.exists(name)) return false;
    plan.manifest = run.read(name, kMaxManifestBytes);
    plan.manifest_file = run.path() + "/" + name;
    return true;
  };
  const MadeSteps* made = who_made(history, plan.first);
  if (made != nullptr && take(manifest_name(made->attempt))) {
    plan.attempt = made->attempt;
    const std::int64_t begin = plan.checkpoint->state().global_step + 1;
    const MadeSteps* before = who_made(history, begin);
    const std::string other = before == nullptr ? "" : manifest_name(before->attempt);
    if (before != nullptr && before->attempt != made->attempt && run.exists(other) &&
        run.read(other, kMaxManifestBytes) != plan.manifest)
      log.info(
          "",
          fmt::format(
              "step {} was made by attempt {}, step {} by attempt {}, whose manifests differ; the later one is taken",
              begin, before->attempt, plan.first, made->attempt));
    return;
  }
  if (!take(std::string(kManifestName)))
    fail(Code::kNotFound,
         fmt::format("[B5011] {} holds no manifest.toml: a run of a program cannot be replayed, it has none",
                     single_quoted(run.path())));
  log.warning("", fmt::format("{} does not record which attempt made step {}; the manifest of the last one is taken",
                              kHistoryFile, plan.first));
}

}  // namespace

RunHistory read_history(std::string_view metrics) {
  RunHistory history;
  std::map<std::int64_t, std::string> digests;
  while (!metrics.empty()) {
    const std::string_view text = metrics.substr(0, metrics.find('\n'));
    metrics.remove_prefix(std::min(text.size() + 1, metrics.size()));
    const std::optional<LineFields> line = fields_of(text);
    if (!line) continue;
    const std::optional<std::int64_t> step = line->step;
    if (!step || *step < 0) continue;
    if (line->event == "start") {
      history.sessions.push_back({line->attempt.value_or(0), *step, *step});
      digests.erase(digests.upper_bound(*step), digests.end());
    } else if (!history.sessions.empty()) {
      history.sessions.back().to = std::max(history.sessions.back().to, *step);
    }
    if (line->event == "state_digest" && StateDigest::is_text(line->digest)) digests[*step] = line->digest;
  }
  for (const auto& [step, digest] : digests) history.digests.push_back({step, digest});
  for (const MadeSteps& made : history.sessions) history.last_step = std::max(history.last_step, made.to);
  return history;
}

// A killed session may have made more steps than its lines show.
const MadeSteps* who_made(const RunHistory& history, std::int64_t step) {
  const MadeSteps* perhaps = nullptr;
  for (auto it = history.sessions.rbegin(); it != history.sessions.rend(); ++it) {
    if (it->from >= step) continue;
    if (it->to >= step) return &*it;
    if (perhaps == nullptr) perhaps = &*it;
  }
  return perhaps;
}

RunPast read_past(const OpenDirectory& run) {
  constexpr std::uint64_t kMostMetrics = std::uint64_t{1} << 31;
  RunPast past{checkpoints_of(run), {}};
  if (run.exists(kHistoryFile)) past.history = read_history(run.read(kHistoryFile, kMostMetrics));
  if (past.checkpoints.empty() && past.history.sessions.empty())
    fail(Code::kNotFound, fmt::format("[B5010] {} holds neither checkpoints nor metrics.jsonl; name a run's directory, "
                                      "which is `run.dir` of its manifest",
                                      single_quoted(run.path())));
  return past;
}

ReplayPlan plan_replay(const OpenDirectory& run, std::int64_t first, std::int64_t last, Logger& log) {
  const RunPast past = read_past(run);
  const auto& [checkpoints, history] = past;
  const std::int64_t made = past.last_step();
  if (last > made)
    fail(Code::kOutOfRange,
         fmt::format("[B5011] the run has made {} steps, and step {} is after them: replay a step that was made", made,
                     last));
  ReplayPlan plan;
  plan.first = first;
  plan.last = last;
  take_start(run, checkpoints, plan, log);
  take_proof(run, checkpoints, history, plan, log);
  take_manifest(run, history, plan, log);
  return plan;
}

ReplayPlan plan_search(const OpenDirectory& run, std::int64_t before, Logger& log) {
  const RunPast past = read_past(run);
  ReplayPlan plan;
  plan.first = before;
  take_start(run, past.checkpoints, plan, log);
  plan.first = plan.checkpoint->state().global_step + 1;
  plan.last = past.last_step();
  take_manifest(run, past.history, plan, log);
  return plan;
}

}  // namespace belay::runtime
