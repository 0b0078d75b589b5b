// SPDX-License-Identifier: Apache-2.0
// `belay compare`: the metrics of runs beside each other.
#include <iostream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/arguments/name_pattern.h"
#include "runtime/cli/results/report_command.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"
#include "runtime/report/compared_runs.h"
#include "runtime/report/markup.h"
#include "runtime/report/repeated_runs.h"
#include "runtime/report/run_charts.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

Json json_of(const std::optional<CurvePoint>& p) {
  return p ? Json{{"value", p->value}, {"step", p->step}} : Json(nullptr);
}

// A value that is not finite is null, since JSON has none.
Json json_of(const MetricOfRun& of, const std::string& path) {
  Json json = {{"path", path}, {"best", json_of(of.best)}, {"last", json_of(of.last)}};
  if (of.not_finite_since) json["last"]["not_finite_since"] = *of.not_finite_since;
  return json;
}

Json json_of(const std::optional<Spread>& s) {
  return s ? Json{{"runs", s->runs}, {"mean", s->mean}, {"deviation", s->deviation}} : Json(nullptr);
}

Json json_of(const RepeatedRuns& group, const std::vector<RunRecord>& runs) {
  Json json = {{"runs", Json::array()}, {"keys", group.keys}, {"metrics", Json::array()}};
  for (const std::size_t run : group.runs) json["runs"].push_back(runs[run].path);
  for (const RepeatedMetric& m : group.metrics)
    json["metrics"].push_back({{"name", m.name}, {"best", json_of(m.best)}, {"last", json_of(m.last)}});
  return json;
}

std::string compared_json(const std::vector<RunRecord>& runs, const std::vector<ComparedMetric>& metrics) {
  Json all = {
      {"runs", Json::array()}, {"metrics", Json::array()}, {"repeated", Json::array()}, {"manifest", Json::array()}};
  for (const RunRecord& run : runs)
    all["runs"].push_back({{"path", run.path},
                           {"status", run.attempts.empty() ? "no events" : end_text(run.attempts.back().how)},
                           {"step", last_step(run)},
                           {"attempts", run.attempts.size()},
                           {"seconds", seconds_of_attempts(run)}});
  for (const ComparedMetric& m : metrics) {
    Json of_runs = Json::array();
    for (const MetricOfRun& of : m.runs) of_runs.push_back(json_of(of, runs[of.run].path));
    Json metric = {{"name", m.name}, {"better", nullptr}, {"runs", std::move(of_runs)}};
    if (m.better) metric["better"] = *m.better == Better::kSmaller ? "min" : "max";
    all["metrics"].push_back(std::move(metric));
  }
  for (const RepeatedRuns& group : repeated_runs(runs, metrics)) all["repeated"].push_back(json_of(group, runs));
  for (const DifferingKey& key : differing_keys(runs)) {
    Json values = Json::array();
    for (const std::string& v : key.values) values.push_back(v.empty() ? Json(nullptr) : Json(v));
    all["manifest"].push_back({{"key", key.key}, {"values", std::move(values)}});
  }
  return shown_json(all.dump(1, ' ', false, Json::error_handler_t::replace)) + "\n";
}

std::string runs_text(const std::vector<RunRecord>& runs) {
  TextTable table;
  for (const RunRecord& run : runs) table.add({name_of_run(run), status_text(run)});
  return table.text("");
}

// Returns a paragraph for each group of runs that repeat one training; empty: there is none.
std::string repeated_text(const std::vector<RunRecord>& runs, const std::vector<ComparedMetric>& metrics) {
  const auto joined = [](const std::vector<std::string>& words) {
    std::string text;
    for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
  };
  std::string text;
  for (const RepeatedRuns& group : repeated_runs(runs, metrics)) {
    std::vector<std::string> names;
    for (const std::size_t run : group.runs) names.push_back(name_of_run(runs[run]));
    text += count_text(names.size(), "run") + " that differ in " + escaped(joined(group.keys)) + ": " +
            escaped(joined(names)) + "\n";
    TextTable table;
    table.add({"metric", "best, mean", "deviation", "last, mean", "deviation", "runs"});
    for (const RepeatedMetric& m : group.metrics) {
      std::vector<std::string> row = {m.name};
      for (const std::optional<Spread>& s : {m.best, m.last}) {
        row.push_back(s ? rounded_number(s->mean) : "-");
        row.push_back(s ? rounded_number(s->deviation) : "");
      }
      row.push_back(std::to_string(m.last ? m.last->runs : m.best->runs));
      table.add(row);
    }
    text += table.text("") + "\n";
  }
  return text;
}

std::string differences_text(const std::vector<RunRecord>& runs) {
  TextTable table;
  table.add({"key", "run", "value"});
  const std::vector<DifferingKey> keys = differing_keys(runs);
  for (const DifferingKey& key : keys)
    for (std::size_t run = 0; run < runs.size(); ++run)
      table.add(
          {run == 0 ? key.key : "", name_of_run(runs[run]), key.values[run].empty() ? "not set" : key.values[run]});
  return keys.empty() ? "the manifests differ in nothing but the run's directory\n" : table.text("");
}

struct CompareArguments {
  std::vector<std::string> runs;  // directories, two at least
  std::string metric;             // a regular expression; empty: is_metric decides
  bool json = false;
};

int compare(const CompareArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err) {
  const NamePattern metric("--metric", arguments.metric);
  bool damaged = false;
  const std::vector<RunRecord> runs = read_runs(files, arguments.runs, err, damaged);
  const auto wanted = [&](const std::string& name) {
    return arguments.metric.empty() ? is_metric(name) : metric.matches(name);
  };
  const std::vector<ComparedMetric> compared = compare_metrics(runs, wanted);
  if (arguments.json) {
    out << compared_json(runs, compared);
  } else {
    const std::string metrics = metrics_text(runs, wanted, "");
    out << runs_text(runs) << "\n"
        << (metrics.empty() ? "no metric to compare\n" : metrics) << "\n"
        << repeated_text(runs, compared) << differences_text(runs);
  }
  return damaged ? kExitTrainingFailed : kExitDone;
}

}  // namespace

Command declare_compare() {
  return {.name = "compare",
          .arguments = "DIR DIR...",
          .what = "prints the best and last metrics of runs, and the differences of their manifests",
          .options =
              {
                  {"metric", "prints only metrics that begin with a match of REGEX", Takes::kText, "REGEX"},
                  {"json", "as JSON"},
              },
          .run = [](const Given& given) -> int {
            const CompareArguments arguments{given.runs(2), given.text("metric"), given.has("json")};
            try {
              return compare(arguments, posix_file_system(), std::cout, std::cerr);
            } catch (const UsageError&) {
              throw;
            } catch (const Error& e) {
              return report_error(e, std::cerr);
            }
          }};
}

}  // namespace belay::runtime
