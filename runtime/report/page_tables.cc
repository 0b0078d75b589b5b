// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/page_tables.h"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"
#include "runtime/report/compared_runs.h"
#include "runtime/report/markup.h"
#include "runtime/report/run_charts.h"

namespace belay::runtime {
namespace {

enum class Column { kText, kWide, kNumber, kCode };

// A table whose cells are text, not markup.
class HtmlTable {
 public:
  using Columns = std::vector<std::pair<std::string, Column>>;
  explicit HtmlTable(Columns columns) : columns_(std::move(columns)) {}

  void add(const std::vector<std::string>& cells) {
    rows_ += "<tr>";
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const Column kind = columns_[i].second;
      const std::string text = html(cells[i]);
      rows_ += kind == Column::kNumber ? "<td class=\"n\">" : kind == Column::kText ? "<td>" : "<td class=\"wide\">";
      rows_ += (kind == Column::kCode ? "<code>" + text + "</code>" : text) + "</td>";
    }
    rows_ += "</tr>\n";
  }
  std::string text(bool dense = false) const {
    if (rows_.empty()) return "";
    std::string out = std::string(dense ? "<table class=\"dense\">" : "<table>") + "\n<thead><tr>";
    for (const auto& [name, kind] : columns_)
      out +=
          std::string("<th scope=\"col\"") + (kind == Column::kNumber ? " class=\"n\">" : ">") + html(name) + "</th>";
    return out + "</tr></thead>\n<tbody>\n" + rows_ + "</tbody>\n</table>\n";
  }

 private:
  Columns columns_;
  std::string rows_;
};

std::string value_text(const std::optional<CurvePoint>& p) { return p ? rounded_number(p->value) : ""; }
std::string step_text(const std::optional<CurvePoint>& p) { return p ? std::to_string(p->step) : ""; }

std::string tile(const std::string& value, const std::string& word) {
  return "<div class=\"tile\"><b>" + html(value) + "</b><span>" + html(word) + "</span></div>\n";
}

// Returns the main metrics of a run: that of its best checkpoints, else one of an evaluation, else one of its steps.
std::vector<std::string> headline_metrics(const RunRecord& run) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (find_curve(run, name) != nullptr && std::find(names.begin(), names.end(), name) == names.end())
      names.push_back(name);
  };
  add(run.checkpoints.best_metric);
  for (const char* name : {"eval/accuracy", "eval/loss", "loss"}) add(name);
  for (const Curve& c : run.curves)
    if (better_by_name(c.tag)) add(metric_name(c));
  names.resize(std::min<std::size_t>(names.size(), 3));
  return names;
}

double steps_of(const AttemptRecord& a) {
  return static_cast<double>(std::max<std::int64_t>(a.last_step - a.from_step, 1));
}

double seconds_done_again(const RunRecord& run) {
  double sum = 0;
  for (const AttemptRecord& a : run.attempts)
    sum += (a.end - a.begin) * std::min(static_cast<double>(a.redone) / steps_of(a), 1.0);
  return sum;
}

}  // namespace

std::string badge_of(const RunRecord& run) {
  const AttemptEnd how = run.running            ? AttemptEnd::kRunning
                         : run.attempts.empty() ? AttemptEnd::kStopped
                                                : run.attempts.back().how;
  const char* colour = how == AttemptEnd::kFinished                                     ? "good"
                       : how == AttemptEnd::kFailed || how == AttemptEnd::kWithoutAWord ? "bad"
                                                                                        : "info";
  return std::string("<span class=\"badge ") + colour + "\">" +
         (run.attempts.empty() && !run.running ? "no events" : end_text(how)) + "</span>";
}

std::string subtitle_of(const RunRecord& run) {
  std::string words = status_text(run);
  words[0] = static_cast<char>(words[0] - 'a' + 'A');
  if (!run.attempts.empty())
    words +=
        ", from " + moment_text(run.attempts.front().begin) + " to " + moment_text(run.attempts.back().end) + " UTC";
  return "<p class=\"soft\">" + html(words) + "</p>\n";
}

std::string tiles_of(const RunRecord& run) {
  std::string out = "<div class=\"tiles\">\n";
  for (const std::string& name : headline_metrics(run)) {
    const Curve& curve = *find_curve(run, name);
    const auto better = better_by_name(curve.tag);
    const auto point = better ? best_of(curve, *better) : last_of(curve);
    if (point)
      out += tile(rounded_number(point->value), (better ? "best " : "last ") + name + ", step " + step_text(point));
  }
  if (!run.attempts.empty()) {
    out += tile(duration_text(seconds_of_attempts(run)),
                run.attempts.size() == 1 ? "in one attempt" : fmt::format("in {} attempts", run.attempts.size()));
  }
  if (!run.layers.empty()) out += tile(short_count(static_cast<double>(parameters_of(run.layers))), "parameters");
  const ListedStored *best = best_checkpoint(run), *current = current_checkpoint(run);
  if (best != nullptr) out += tile(best->name, best == current ? "best and last checkpoint" : "best checkpoint");
  if (current != nullptr && best != current) out += tile(current->name, "last checkpoint");
  return out + "</div>\n";
}

std::string metrics_table(const std::vector<RunRecord>& runs) {
  const bool several = runs.size() > 1;
  HtmlTable::Columns columns = {{"metric", Column::kWide},    {"run", Column::kWide},    {"best", Column::kNumber},
                                {"at step", Column::kNumber}, {"last", Column::kNumber}, {"at step", Column::kNumber}};
  if (!several) columns.erase(columns.begin() + 1);
  HtmlTable table(columns);
  for (const ComparedMetric& m : compare_metrics(runs, is_metric))
    for (const MetricOfRun& of : m.runs) {
      std::vector<std::string> cells = {&of == &m.runs.front() ? m.name : "",
                                        name_of_run(runs[of.run]),
                                        value_text(of.best),
                                        step_text(of.best),
                                        value_text(of.last),
                                        last_step_text(of)};
      if (!several) cells.erase(cells.begin() + 1);
      table.add(cells);
    }
  return table.text();
}

std::string differences_table(const std::vector<RunRecord>& runs) {
  HtmlTable table({{"key", Column::kCode}, {"run", Column::kWide}, {"value", Column::kCode}});
  for (const DifferingKey& key : differing_keys(runs))
    for (std::size_t run = 0; run < runs.size(); ++run)
      table.add(
          {run == 0 ? key.key : "", name_of_run(runs[run]), key.values[run].empty() ? "not set" : key.values[run]});
  const std::string text = table.text();
  return text.empty() ? "<p>Nothing but the run's directory.</p>\n" : text;
}

std::string attempts_table(const RunRecord& run) {
  HtmlTable table({{"attempt", Column::kText},
                   {"began", Column::kText},
                   {"took", Column::kNumber},
                   {"continued from", Column::kNumber},
                   {"came to step", Column::kNumber},
                   {"steps/s", Column::kNumber},
                   {"ended", Column::kText},
                   {"steps done again", Column::kNumber}});
  for (const AttemptRecord& a : run.attempts) {
    const double seconds = a.end - a.begin;
    table.add({std::to_string(a.number), moment_text(a.begin), duration_text(seconds),
               a.from_step == 0 ? "the beginning" : std::to_string(a.from_step), std::to_string(a.last_step),
               seconds > 0 && a.last_step > a.from_step ? rounded_number(steps_of(a) / seconds) : "", end_text(a.how),
               a.redone == 0 ? "" : std::to_string(a.redone)});
  }
  return table.text();
}

std::string timeline_of(const RunRecord& run) {
  const double begin = run.attempts.front().begin, all = run.attempts.back().end - begin,
               training = seconds_of_attempts(run), again = seconds_done_again(run);
  if (!(all > 0)) return "";
  std::string words = duration_text(training) + " of training";
  if (again > 0) words += ", about " + duration_text(again) + " of it for steps that were done again";
  if (run.attempts.size() > 1) words += "; " + duration_text(std::max(all - training, 0.0)) + " between attempts";
  std::string out = "<p>" + html(words) + ".</p>\n";
  if (run.attempts.size() == 1) return out;
  out +=
      "<svg viewBox=\"0 0 1000 18\" width=\"100%\" height=\"18\" preserveAspectRatio=\"none\" role=\"img\" "
      "aria-label=\"attempts over the time\">";
  const auto add_span = [&](const char* type, double from, double to, const std::string& what) {
    out += std::string("<rect class=\"") + type + "\" y=\"2\" height=\"12\" x=\"";
    add_coordinate(out, (from - begin) / all * 1000);
    out += "\" width=\"";
    add_coordinate(out, std::max((to - from) / all * 1000, 1.0));
    out += "\"><title>" + html(what) + "</title></rect>";
  };
  for (const AttemptRecord& a : run.attempts) {
    const double split = a.end - (a.end - a.begin) * std::min(static_cast<double>(a.redone) / steps_of(a), 1.0);
    add_span("span", a.begin, split, fmt::format("attempt {}", a.number));
    if (split < a.end) add_span("span again", split, a.end, "steps that were done again");
  }
  return out + "</svg>\n";
}

std::string checkpoints_table(const RunRecord& run) {
  HtmlTable table({{"checkpoint", Column::kWide},
                   {"step", Column::kNumber},
                   {"saved", Column::kText},
                   {"size", Column::kNumber},
                   {"saver", Column::kText},
                   {"", Column::kWide}});
  for (const ListedStored& s : run.checkpoints.all) {
    std::vector<std::string> words;
    if (s.current) words.push_back("last" + unsaved_text(run));
    if (s.best_rank != 0)
      words.push_back((s.best_rank == 1 ? "best" : fmt::format("#{}", s.best_rank)) + " by " +
                      run.checkpoints.best_metric + " (" + rounded_number(s.best_value) + ")");
    if (s.pinned) words.emplace_back("pinned");
    if (!s.problem.empty()) words.push_back("cannot be restored: " + shown_code(s.problem));
    table.add({s.name, s.step ? std::to_string(*s.step) : "", moment_text(static_cast<double>(s.saved_ns) * 1e-9),
               short_count(static_cast<double>(s.bytes)) + (s.bytes < 1000 ? " B" : "B"), s.saver, joined(words)});
  }
  return table.text();
}

std::string layers_table(const RunRecord& run) {
  HtmlTable table({{"layer", Column::kWide},
                   {"operations", Column::kWide},
                   {"output", Column::kText},
                   {"parameters", Column::kNumber},
                   {"FLOPs of an example", Column::kNumber}});
  for (const ModelLayer& l : run.layers)
    table.add({l.name, ops_text(l), l.output.text(), l.parameters == 0 ? "" : grouped_number(l.parameters),
               l.flops == 0 ? "" : short_count(l.flops)});
  table.add({"all", "", "", grouped_number(parameters_of(run.layers)), short_count(flops_of(run.layers))});
  return table.text();
}

std::string changes_table(const RunRecord& run) {
  HtmlTable table(
      {{"attempt", Column::kNumber}, {"key", Column::kCode}, {"was", Column::kCode}, {"is", Column::kCode}});
  for (const ChangedKey& c : run.changes) table.add({std::to_string(c.attempt), c.key, c.was, c.is});
  return table.text();
}

std::string time_table(const RunRecord& run) {
  // The host writes these values: the shares of time in each of its windows, which have equal lengths.
  constexpr std::string_view kScope = "time/";
  std::string rows;
  for (const Curve& c : run.curves) {
    if (c.folder != "." || !c.tag.starts_with(kScope) || c.points.empty()) continue;
    double sum = 0;
    for (const CurvePoint& p : c.points) sum += p.value;
    const double share = sum / static_cast<double>(c.points.size());
    if (!(share >= 0 && share <= 1.001)) continue;
    std::string width;
    add_coordinate(width, share * 320);
    rows += "<tr><td>" + html(c.tag.substr(kScope.size())) + "</td><td class=\"n\">" + rounded_number(share * 100) +
            " %</td><td><div class=\"share\" style=\"width:" + width + "px\"></div></td></tr>\n";
  }
  if (rows.empty()) return "";
  return "<table class=\"dense\">\n<thead><tr><th scope=\"col\">in</th><th scope=\"col\" class=\"n\">share of the "
         "time</th><th></th></tr></thead>\n<tbody>\n" +
         rows + "</tbody>\n</table>\n";
}

std::string matrix_table(const Matrix& matrix, const std::vector<std::string>& names) {
  const auto name = [&](std::size_t i) { return names.size() == matrix.size() ? names[i] : std::to_string(i); };
  HtmlTable::Columns columns{{"", Column::kNumber}};
  for (std::size_t j = 0; j < (matrix.empty() ? 0 : matrix[0].size()); ++j)
    columns.emplace_back(matrix[0].size() == matrix.size() ? name(j) : std::to_string(j), Column::kNumber);
  HtmlTable table(columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) {
    std::vector<std::string> cells{name(i)};
    for (const double number : matrix[i]) cells.push_back(cell_text(number));
    table.add(cells);
  }
  return table.text(true);
}

std::string schema_table(const Schema& schema) {
  HtmlTable table({{"what", Column::kCode}, {"of the training's data", Column::kCode}});
  for (const auto& [what, words] : schema_rows(schema)) table.add({what, words});
  return table.text(true);
}

std::string manifest_table(const RunRecord& run) {
  HtmlTable table({{"section", Column::kCode}, {"key", Column::kCode}, {"value", Column::kCode}});
  std::string section;
  for (const ManifestValue& v : run.manifest) {
    table.add({v.section == section ? "" : "[" + v.section + "]", v.key, v.value});
    section = v.section;
  }
  return table.text(true);
}

}  // namespace belay::runtime
