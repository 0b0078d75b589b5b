// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/events_command.h"

#include <algorithm>
#include <cmath>
#include <ctime>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/cli/exit_status.h"
#include "runtime/cli/name_pattern.h"
#include "runtime/cli/text_table.h"
#include "runtime/events/run_events_reader.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

std::string time_text(double seconds) {
  if (!(std::abs(seconds) < 1e11)) return detail::number_text(seconds);
  const auto whole = static_cast<std::time_t>(std::floor(seconds));
  std::tm parts{};
  char text[40] = "";
  if (::gmtime_r(&whole, &parts) != nullptr) std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// A long text is cut: the other formats have all of it.
std::string short_text(const EventValue& value) {
  constexpr std::size_t kMostColumns = 60;
  const std::string text = escaped(value.text);
  return display_width(text) <= kMostColumns ? text : std::string(cut_to_width(text, kMostColumns - 3)) + "...";
}

// What the log of a session says has no tag.
std::string tag_text(const EventValue& value) { return value.tag.empty() ? "(" + value.kind + ")" : value.tag; }

void print_table(const ReadEvents& events, std::ostream& out) {
  TextTable table;
  const auto& points = events.points;
  const bool runs = std::any_of(points.begin(), points.end(), [&](const auto& p) { return p.run != points[0].run; });
  const auto add = [&](const std::string& run, std::vector<std::string> cells) {
    if (runs) cells.insert(cells.begin(), run);
    table.add(std::move(cells));
  };
  add("run", {"tag", "step", "value", "kind", "attempt", "time"});
  for (const EventPoint& p : points)
    add(events.runs[p.run], {tag_text(p.value), std::to_string(p.step), short_text(p.value), p.value.kind,
                             std::to_string(p.attempt) + (p.redone ? ", redone" : ""), time_text(p.wall_time)});
  out << table.text("");
}

std::string csv_text(const std::string& text) {
  std::string cell;
  if (!text.empty()) append_csv_cell(cell, text);
  return cell;
}

void print_csv(const ReadEvents& events, std::ostream& out) {
  out << "run,attempt,tag,kind,step,wall_time,value,redone\n";
  for (const EventPoint& p : events.points)
    out << csv_text(events.runs[p.run]) << "," << p.attempt << "," << csv_text(p.value.tag) << "," << p.value.kind
        << "," << p.step << "," << detail::number_text(p.wall_time) << "," << csv_text(p.value.text) << ","
        << (p.redone ? "true" : "false") << "\n";
}

void print_events_json(const ReadEvents& events, std::ostream& out) {
  out << "[";
  bool first = true;
  for (const EventPoint& p : events.points) {
    Json json{{"run", events.runs[p.run]}, {"attempt", p.attempt}, {"tag", p.value.tag},
              {"kind", p.value.kind},      {"step", p.step},       {"wall_time", p.wall_time}};
    if (!p.value.number && p.value.kind == "tensor" && p.value.text.starts_with("["))
      json["value"] = Json::parse(p.value.text);
    else if (!p.value.number)
      json["value"] = p.value.text;
    else
      json["value"] = std::isfinite(*p.value.number) ? Json::parse(p.value.text) : Json(nullptr);
    if (p.redone) json["redone"] = true;
    out << (std::exchange(first, false) ? "\n " : ",\n ")
        << shown_json(json.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  out << "\n]\n";
}

// By run, tag and step; of one step in the order written.
void sort(std::vector<EventPoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const EventPoint& a, const EventPoint& b) {
    return std::tie(a.run, a.value.tag, a.step) < std::tie(b.run, b.value.tag, b.step);
  });
}

int print_events(const EventsArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err) {
  const NamePattern tag("--tag", arguments.tag);
  std::set<std::string> tags;
  bool any = false;
  ReadEvents events = read_events(files, arguments.path, [&](const EventValue& value, std::int64_t step) {
    if (!value.tag.empty()) tags.insert(value.tag);
    const bool matches = tag.matches(value.tag);
    any = any || matches;
    return matches && step >= arguments.first_step && step <= arguments.last_step;
  });
  if (!any && !tag.matches_all()) tag.fail_unmatched("tag", {tags.begin(), tags.end()});
  const auto redone = arguments.all ? 0 : std::erase_if(events.points, [](const EventPoint& p) { return p.redone; });
  sort(events.points);
  if (arguments.format == EventsFormat::kJson) print_events_json(events, out);
  if (arguments.format == EventsFormat::kCsv) print_csv(events, out);
  if (arguments.format == EventsFormat::kTable) print_table(events, out);
  out.flush();
  if (redone != 0)
    err << redone << (redone == 1 ? " value" : " values")
        << " of steps that a later attempt did again: left out; --all prints them\n";
  bool damaged = false;
  for (const EventProblem& p : events.problems) {
    err << (p.damage ? "error: " : "warning: ") << p.text << "\n";
    damaged = damaged || p.damage;
  }
  return damaged ? kExitTrainingFailed : kExitDone;
}

}  // namespace

int events_command(const EventsArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err) {
  try {
    return print_events(arguments, files, out, err);
  } catch (const Error& e) {
    err << "error: " << e.what() << "\n";
    const bool usage =
        e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound || e.code() == Code::kFailedPrecondition;
    return usage ? kExitUsage : kExitTrainingFailed;
  }
}

}  // namespace belay::runtime
