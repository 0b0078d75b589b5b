// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/results/report_command.h"

#include <fmt/core.h>

#include <iostream>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "belay/runtime/environment.h"
#include "runtime/checkpoint/read/stored_place.h"  // path_parts
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/text/terminal_curve.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/clock.h"
#include "runtime/report/compared_runs.h"
#include "runtime/report/markup.h"
#include "runtime/report/page.h"
#include "runtime/report/run_charts.h"

namespace belay::runtime {
namespace {

constexpr const char* kPageName = "report.html";

std::string attempts_text(const RunRecord& run) {
  std::string text = fmt::format("{} in {}", run.attempts.size(), duration_text(seconds_of_attempts(run)));
  for (std::size_t i = 1; i < run.attempts.size(); ++i) {
    const AttemptRecord &before = run.attempts[i - 1], &attempt = run.attempts[i];
    text += fmt::format("; {} {} at step {}, {} continued from {}", before.number, end_text(before.how),
                        before.last_step, attempt.number, attempt.from_step);
    if (before.redone != 0)
      text += fmt::format(" ({}{} done again)", before.redone, before.redone == 1 ? " step" : " steps");
  }
  return text;
}

std::string checkpoints_text(const RunRecord& run) {
  std::string text = std::to_string(run.checkpoints.all.size());
  if (const ListedStored* current = current_checkpoint(run)) text += "; last " + current->name + unsaved_text(run);
  if (const ListedStored* best = best_checkpoint(run))
    text += ", best " + best->name + " (" + run.checkpoints.best_metric + " " + rounded_number(best->best_value) + ")";
  return text;
}

std::string changes_text(const RunRecord& run) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> words;
  for (const ChangedKey& c : run.changes)
    if (words.size() < kMost)
      words.push_back(fmt::format("attempt {}: {} was {}, is {}", c.attempt, c.key, c.was, c.is));
  if (run.changes.size() > kMost) words.push_back(fmt::format("{} more", run.changes.size() - kMost));
  return joined(words, "; ");
}

std::string facts_text(const RunRecord& run) {
  TextTable table;
  if (!run.attempts.empty()) table.add({"attempts", attempts_text(run)});
  if (!run.last_words.empty()) table.add({"last words", run.last_words});
  if (!run.layers.empty())
    table.add({"model", grouped_number(parameters_of(run.layers)) + " parameters, " +
                            short_count(flops_of(run.layers)) + " FLOPs an example forward"});
  if (!run.checkpoints.all.empty()) table.add({"checkpoints", checkpoints_text(run)});
  if (!run.changes.empty()) table.add({"changed", changes_text(run)});
  return table.text("  ");
}

// Returns the training's loss, else the first metric.
const Curve* curve_to_show(const RunRecord& run) {
  if (const Curve* loss = find_curve(run, "loss")) return loss;
  for (const Curve& c : run.curves)
    if (is_metric(metric_name(c))) return &c;
  return run.curves.empty() ? nullptr : &run.curves.front();
}

std::string summary_of(const RunRecord& run, bool utf8) {
  std::string text = facts_text(run);
  if (run.schema)
    for (const auto& [what, words] : schema_rows(*run.schema)) text += escaped(what + ": " + words) + "\n";
  if (const std::string metrics = metrics_text({run}, is_metric, "  "); !metrics.empty()) text += "\n" + metrics;
  for (const MatrixOfTag& m : run.pictures.matrices) {
    text += "\n";
    const std::string title = fmt::format("{} at step {}", m.name, m.step);
    const std::vector<std::string> names =
        run.schema ? class_names_of(run.schema->components) : std::vector<std::string>();
    for (const std::string& line : matrix_lines(title, m.rows, names)) text += "  " + escaped(line) + "\n";
  }
  if (const Curve* curve = curve_to_show(run)) {
    const std::string drawing = terminal_curve(*curve, 60, 10, utf8, "  ");
    if (!drawing.empty()) text += "\n  " + escaped(metric_name(*curve)) + "\n" + drawing;
  }
  return text;
}

void write_page(FileSystem& files, const std::string& path, const std::string& page) {
  const PathParts parts = path_parts(path);
  try {
    files.open_directory(parts.parent)->replace(parts.name, page);
  } catch (const Error& e) {
    fail(e.code(),
         "[B5009] the page is not written: " + std::string(e.message()) + "; --output FILE writes it elsewhere");
  }
}

struct ReportArguments {
  std::vector<std::string> runs;  // directories, one at least
  std::string output;             // empty: report.html in the run's directory
};

ReportArguments report_arguments(const Given& given) {
  ReportArguments out{given.runs(1), given.text("output")};
  if (out.runs.size() > 1 && out.output.empty())
    throw UsageError(
        "[B5006] belay report: a page about several runs is in none of their directories; name it by --output FILE");
  return out;
}

// Whether the terminal's locale is one of UTF-8, by the rules of the C library.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const auto value = process_environment()(name); value && !value->empty())
      return value->find("UTF-8") != value->npos || value->find("utf8") != value->npos;
  return false;
}

// Writes the page, and a summary to `out`. `utf8`: whether the terminal shows more than ASCII.
int report(const ReportArguments& arguments, FileSystem& files, const Clock& clock, bool utf8, std::ostream& out,
           std::ostream& err) {
  bool damaged = false;
  const std::vector<RunRecord> runs = read_runs(files, arguments.runs, err, damaged);
  const std::string path = arguments.output.empty() ? path_in(name_of_run(runs[0]), kPageName) : arguments.output;
  const std::string page = page_of(runs, clock.wall_ns());
  for (const RunRecord& run : runs) {
    out << escaped(name_of_run(run)) << ": " << status_text(run) << "\n";
    if (runs.size() == 1) out << summary_of(run, utf8);
  }
  if (runs.size() > 1)
    if (const std::string metrics = metrics_text(runs, is_metric, ""); !metrics.empty()) out << "\n" << metrics;
  try {
    write_page(files, path, page);
  } catch (const Error& e) {
    out.flush();
    err << error_line(e.message()) << "\n";
    return kExitSaveFailed;
  }
  out << "\nthe page: " << escaped(path) << "\n";
  return damaged ? kExitTrainingFailed : kExitDone;
}

}  // namespace

std::vector<RunRecord> read_runs(FileSystem& files, const std::vector<std::string>& paths, std::ostream& err,
                                 bool& damaged) {
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kWarning, system_clock());
  std::vector<RunRecord> runs;
  for (const std::string& path : paths) {
    runs.push_back(read_run(files, path, *log));
    log->flush();
    for (const EventProblem& p : runs.back().problems) {
      err << coded_line(p.damage ? "error" : "warning", p.text) << "\n";
      damaged = damaged || p.damage;
    }
  }
  return runs;
}

std::string metrics_text(const std::vector<RunRecord>& runs, const std::function<bool(const std::string&)>& wanted,
                         const std::string& indent) {
  TextTable table;
  const bool several = runs.size() > 1;
  const auto add = [&](std::vector<std::string> cells) {
    if (!several) cells.erase(cells.begin() + 1);
    table.add(std::move(cells));
  };
  const auto value = [](const std::optional<CurvePoint>& p) { return p ? rounded_number(p->value) : "-"; };
  const auto step = [](const std::optional<CurvePoint>& p) { return p ? std::to_string(p->step) : ""; };
  const std::vector<ComparedMetric> metrics = compare_metrics(runs, wanted);
  if (metrics.empty()) return "";
  add({"metric", "run", "best", "at step", "last", "at step"});
  for (const ComparedMetric& m : metrics)
    for (const MetricOfRun& of : m.runs)
      add({&of == &m.runs.front() ? m.name : "", name_of_run(runs[of.run]), value(of.best), step(of.best),
           value(of.last), last_step_text(of)});
  return table.text(indent);
}

int report_error(const Error& e, std::ostream& err) {
  err << error_line(e.message()) << "\n";
  const bool usage =
      e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound || e.code() == Code::kFailedPrecondition;
  return usage ? kExitUsage : kExitTrainingFailed;
}

Command declare_report() {
  return {.name = "report",
          .arguments = "DIR [DIR...]",
          .what = "writes a web page with a run's curves, checkpoints and model, and prints a summary",
          .options = {{"output", "file of the page (report.html in the run's directory)", Takes::kText, "FILE"}},
          .run = [](const Given& given) -> int {
            const ReportArguments arguments = report_arguments(given);
            try {
              return report(arguments, posix_file_system(), system_clock(), speaks_utf8(), std::cout, std::cerr);
            } catch (const Error& e) {
              return report_error(e, std::cerr);
            }
          }};
}

}  // namespace belay::runtime
