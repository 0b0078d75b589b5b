// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/run_charts.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/report/compared_runs.h"
#include "runtime/report/markup.h"

namespace belay::runtime {
namespace {

// Limit for all lines together, so that a page of many lines is no larger.
constexpr std::size_t kMostPoints = 36'000, kMostPointsOfLine = 300, kFewestPointsOfLine = 40;
constexpr std::size_t kMostCharts = 120, kMostLinesOfChart = 8, kMostLinesWithDots = 40;

enum class Place { kMetrics, kLearningRate, kOthers };

struct Picked {
  std::size_t run = 0;
  const Curve* curve = nullptr;
};

std::string last_word(const std::string& tag) { return tag.substr(tag.find_last_of("/_") + 1); }

class ChartMaker {
 public:
  explicit ChartMaker(const std::vector<RunRecord>& runs) : runs_(runs) {
    for (const RunRecord& run : runs)
      for (const Curve& c : run.curves) evaluated_[c.tag] = evaluated_[c.tag] || c.folder != ".";
    for (std::size_t run = 0; run < runs.size(); ++run)
      for (const Curve& c : runs[run].curves) add(run, c);
  }

  RunCharts make() {
    RunCharts all;
    std::size_t lines = 0, charts = 0;
    for (const auto& [key, picked] : groups_) lines += picked.size();
    lines_ = std::max<std::size_t>(lines, 1);
    all.sections = {{"Metrics", "metrics", {}}, {"Learning rate", "learning-rate", {}}, {"Other curves", "curves", {}}};
    for (const auto& [key, picked] : groups_)
      for (std::size_t from = 0; from < picked.size(); from += kMostLinesOfChart) {
        const std::size_t to = std::min(from + kMostLinesOfChart, picked.size());
        if (charts++ >= kMostCharts) {
          all.left_out += to - from;
          continue;
        }
        all.sections[static_cast<std::size_t>(key.first)].charts.push_back(chart_of(key.second, picked, from, to));
      }
    std::erase_if(all.sections, [](const ChartSection& s) { return s.charts.empty(); });
    return all;
  }

 private:
  void add(std::size_t run, const Curve& curve) {
    const std::string word = last_word(curve.tag);
    Place place = Place::kOthers;
    if (curve.tag.ends_with("learning_rate") || word == "lr")
      place = Place::kLearningRate;
    else if (evaluated_[curve.tag] || is_metric(curve.tag))
      place = Place::kMetrics;
    const bool alone = place != Place::kOthers || runs_.size() > 1;
    groups_[{place, alone ? curve.tag : group_of(curve.tag)}].push_back({run, &curve});
  }

  // The measure of "gradient_norm/hidden_1/kernel" is the first part, and one drawing has it for all variables.
  // "system/memory" and "system/threads" have nothing in common, but shares of the time have.
  static std::string group_of(const std::string& tag) {
    const std::size_t first = tag.find('/'), second = first == tag.npos ? first : tag.find('/', first + 1);
    return second != tag.npos || tag.starts_with("time/") ? tag.substr(0, first) + "/..." : tag;
  }

  std::string name_of(const Picked& p) const {
    std::string folder = p.curve->folder == "." ? "" : p.curve->folder;
    if (runs_.size() > 1) return name_of_run(runs_[p.run]) + (folder.empty() ? "" : ", " + folder);
    if (!folder.empty()) return folder;
    return evaluated_.at(p.curve->tag) ? "training" : p.curve->tag;
  }

  RunChart chart_of(const std::string& title, const std::vector<Picked>& picked, std::size_t from,
                    std::size_t to) const {
    RunChart made;
    made.chart.title = title;
    const std::size_t points = std::clamp(kMostPoints / lines_, kFewestPointsOfLine, kMostPointsOfLine);
    for (std::size_t i = from; i < to; ++i) {
      const Picked& p = picked[i];
      const bool several = runs_.size() > 1;
      ChartLine line{name_of(p), thinned(*p.curve, points), several ? p.run : i - from,
                     several && p.curve->folder != "."};
      line.dots = lines_ <= kMostLinesWithDots;
      const auto better = better_by_name(p.curve->tag);
      if (better) line.best = best_of(*p.curve, *better);
      made.remarks.push_back(remark_of(*p.curve, line.best));
      made.chart.lines.push_back(std::move(line));
    }
    if (runs_.size() == 1) made.chart.marks = marks_of(runs_[0]);
    return made;
  }

  static std::string remark_of(const Curve& curve, const std::optional<CurvePoint>& best) {
    std::string text;
    if (best) text = "best " + rounded_number(best->value) + " at step " + std::to_string(best->step);
    if (const auto last = last_of(curve)) text += (text.empty() ? "last " : ", last ") + rounded_number(last->value);
    if (const auto since = not_finite_since(curve)) text += " since step " + std::to_string(*since);
    if (const std::size_t lost = not_finite(curve); lost != 0)
      text += (text.empty() ? "" : ", ") + std::to_string(lost) + (lost == 1 ? " is" : " are") + " not finite";
    return text;
  }

  // Returns the steps from which an attempt continued or a session recovered.
  static std::vector<ChartMark> marks_of(const RunRecord& run) {
    std::vector<ChartMark> marks;
    for (std::size_t i = 1; i < run.attempts.size(); ++i) {
      const AttemptRecord& before = run.attempts[i - 1];
      marks.push_back({static_cast<double>(run.attempts[i].from_step),
                       "attempt " + std::to_string(run.attempts[i].number),
                       "attempt " + std::to_string(run.attempts[i].number) + " continues from step " +
                           std::to_string(run.attempts[i].from_step) + "; the one before was " + end_text(before.how) +
                           " at step " + std::to_string(before.last_step)});
    }
    for (const std::int64_t step : run.recoveries)
      marks.push_back(
          {static_cast<double>(step), "recovery", "a session was recovered from step " + std::to_string(step)});
    return marks;
  }

  const std::vector<RunRecord>& runs_;
  std::map<std::string, bool> evaluated_;  // by tag
  std::map<std::pair<Place, std::string>, std::vector<Picked>> groups_;
  std::size_t lines_ = 1;
};

}  // namespace

RunCharts charts_of(const std::vector<RunRecord>& runs) { return ChartMaker(runs).make(); }

std::string name_of_run(const RunRecord& run) {
  std::string path = run.path;
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  return path;
}

}  // namespace belay::runtime
