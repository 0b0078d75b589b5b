// SPDX-License-Identifier: Apache-2.0
// `belay events DIR` prints the contents of a run's event files.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/arguments/name_pattern.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/events/run_events_reader.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/text/coded_message.h"
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

// A long text is cut; the other formats have all of it.
std::string short_text(const EventValue& value) {
  constexpr std::size_t kMostColumns = 60;
  const std::string text = escaped(value.text);
  return display_width(text) <= kMostColumns ? text : std::string(cut_to_width(text, kMostColumns - 3)) + "...";
}

// An entry of a session's log has no tag. It is shown by its kind.
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

// Sorts by run, tag and step. Points of one step keep the order of the file.
void sort(std::vector<EventPoint>& points) {
  std::stable_sort(points.begin(), points.end(), [](const EventPoint& a, const EventPoint& b) {
    return std::tie(a.run, a.value.tag, a.step) < std::tie(b.run, b.value.tag, b.step);
  });
}

enum class EventsFormat { kTable, kJson, kCsv };
struct EventsArguments {
  std::string path;
  std::string tag;  // a regular expression; empty: all tags
  std::int64_t first_step = INT64_MIN, last_step = INT64_MAX;
  bool all = false;  // also what a later attempt did again
  EventsFormat format = EventsFormat::kTable;
};

// Parses "100:200", ":200", "100:", "100".
void parse_steps(const std::string& text, EventsArguments& out) {
  const auto number = [&](std::string_view part, std::int64_t& value) {
    if (part.empty()) return;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size())
      throw UsageError("[B5004] belay events: --steps is \"" + escaped(text) +
                       "\", must be FIRST:LAST, as in 100:200 or 100:");
  };
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  number(all.substr(0, colon), out.first_step);
  if (colon == all.npos)
    out.last_step = out.first_step;
  else
    number(all.substr(colon + 1), out.last_step);
}

EventsArguments events_arguments(const Given& given) {
  EventsArguments out;
  out.path = given.argument("directory or event file");
  out.tag = given.text("tag");
  if (given.has("steps")) parse_steps(given.text("steps"), out);
  out.all = given.has("all");
  if (given.has("json") && given.has("csv"))
    throw UsageError("[B5006] belay events: --json and --csv are two formats; give one; see belay events --help");
  if (given.has("json")) out.format = EventsFormat::kJson;
  if (given.has("csv")) out.format = EventsFormat::kCsv;
  return out;
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
    err << coded_line(p.damage ? "error" : "warning", p.text) << "\n";
    damaged = damaged || p.damage;
  }
  return damaged ? kExitTrainingFailed : kExitDone;
}

// Returns an exit status: 1 if a file is damaged. A file that ends within a record is a warning.
int events_command(const EventsArguments& arguments, FileSystem& files, std::ostream& out, std::ostream& err) {
  try {
    return print_events(arguments, files, out, err);
  } catch (const Error& e) {
    err << error_line(e.what()) << "\n";
    const bool usage =
        e.code() == Code::kInvalidArgument || e.code() == Code::kNotFound || e.code() == Code::kFailedPrecondition;
    return usage ? kExitUsage : kExitTrainingFailed;
  }
}

}  // namespace

Command declare_events() {
  return {.name = "events",
          .arguments = "DIR",
          .what = "prints the contents of a run's event files",
          .options =
              {
                  {"tag", "prints only tags that begin with a match of REGEX", Takes::kText, "REGEX"},
                  {"steps", "prints only steps in this range; either end may be left out", Takes::kText, "FIRST:LAST"},
                  {"all", "also prints steps that a later attempt repeated"},
                  {"csv", "prints CSV"},
                  {"json", "as JSON"},
              },
          .run = [](const Given& given) {
            return events_command(events_arguments(given), posix_file_system(), std::cout, std::cerr);
          }};
}

}  // namespace belay::runtime
