// SPDX-License-Identifier: Apache-2.0
// The arguments of each command, from its options.
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <utility>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/cli/command_line.h"
#include "runtime/cli/command_options.h"
#include "runtime/cli/exported_folder.h"
#include "runtime/cli/time_box.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text/text.h"

namespace po = boost::program_options;

namespace belay::runtime {
namespace {

std::string one_argument(const std::string& command, const po::variables_map& values, const char* what) {
  const auto given =
      values.count("argument") == 0 ? std::vector<std::string>{} : values["argument"].as<std::vector<std::string>>();
  if (given.size() == 1) return given[0];
  throw UsageError("belay " + command + " takes one " + what + ", " +
                   (given.empty() ? std::string("none was given")
                                  : std::to_string(given.size()) + " were given: " + escaped(joined(given))) +
                   "; see belay " + command + " --help");
}

std::vector<std::string> sets_of(const po::variables_map& values) {
  return values.count("set") == 0 ? std::vector<std::string>{} : values["set"].as<std::vector<std::string>>();
}

// "text" or "json".
bool is_json(const std::string& command, const char* option, const po::variables_map& values) {
  const std::string format = values[option].as<std::string>();
  if (format != "text" && format != "json")
    throw UsageError("belay " + command + ": --" + option + " is \"" + escaped(format) + "\", must be text or json");
  return format == "json";
}

void read_manifest_arguments(const std::string& command, const po::variables_map& values, ManifestArguments& out) {
  if (values.count("argument") == 0)
    throw UsageError("belay " + command + " takes a manifest, none was given; see belay " + command + " --help");
  out.manifests = values["argument"].as<std::vector<std::string>>();
  if (std::count(out.manifests.begin(), out.manifests.end(), "-") > 1)
    throw UsageError("belay " + command + " reads standard input once; give \"-\" once");
  out.sets = sets_of(values);
  out.json_diagnostics = is_json(command, "diagnostics", values);
}

ResumeOptions resume_of(const po::variables_map& values) {
  ResumeOptions resume;
  resume.exact = values.count("exact") != 0;
  if (values.count("resume") != 0)
    for (const std::string& how : values["resume"].as<std::vector<std::string>>()) {
      if (how != "changed" && how != "must")
        throw UsageError("belay run: --resume is \"" + escaped(how) + "\", must be changed or must");
      (how == "must" ? resume.must : resume.accept_changes) = true;
    }
  if (values.count("from-scratch") != 0 && (resume.must || resume.accept_changes))
    throw UsageError("belay run: --from-scratch and --resume contradict each other; take one of them away");
  return resume;
}

LogFormat log_format_of(const std::string& command, const po::variables_map& values) {
  return is_json(command, "log-format", values) ? LogFormat::kJson : LogFormat::kText;
}

void read_log_options(const std::string& command, const po::variables_map& values, RunArguments& out) {
  out.log_format = log_format_of(command, values);
  const bool quiet = values.count("quiet") != 0, verbose = values.count("verbose") != 0;
  if (quiet && verbose)
    throw UsageError("belay " + command + ": --quiet and --verbose contradict each other; take one of them away");
  if (quiet) out.log_level = LogLevel::kWarning;
  if (verbose) out.log_level = LogLevel::kDebug;
  const std::string colour = values["color"].as<std::string>();
  if (colour != "auto" && colour != "always" && colour != "never")
    throw UsageError("belay " + command + ": --color is \"" + escaped(colour) + "\", must be auto, always or never");
  out.colour = colour == "always" ? Colour::kAlways : colour == "never" ? Colour::kNever : Colour::kAuto;
}

void read_time_box(const po::variables_map& values, RunArguments& out) {
  constexpr int kMostStatus = 255;
  if (values.count("max-time") != 0) {
    const std::string text = values["max-time"].as<std::string>();
    out.max_seconds = parse_duration(text);
    if (out.max_seconds <= 0)
      throw UsageError("belay run: --max-time is \"" + escaped(text) +
                       "\", must be a time such as 90s, 15m, 2h or 1h30m, at most ten years");
  }
  if (values.count("requeue-status") == 0) return;
  out.requeue_status = values["requeue-status"].as<int>();
  if (out.max_seconds <= 0) throw UsageError("belay run: --requeue-status is the status of --max-time; give that, too");
  if (out.requeue_status < 0 || out.requeue_status > kMostStatus)
    throw UsageError("belay run: --requeue-status must be from 0 to 255");
}

void read_short(const po::variables_map& values, RunArguments& out) {
  if (values.count("short") == 0) return;
  if (out.trace && out.trace->empty())
    throw UsageError("belay run: --short removes its directory, and the trace with it: give --trace=FILE");
  out.short_steps = values["short"].as<std::int64_t>();
  if (out.short_steps < 1) throw UsageError("belay run: --short must be at least 1");
  if (out.dry_run || out.from_scratch || out.resume.must || out.resume.accept_changes || out.resume.exact)
    throw UsageError(
        "belay run: --short works in a directory of its own, which --dry-run, --from-scratch, --resume and --exact "
        "cannot be about; take them away");
}

}  // namespace

RunArguments parse_run(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("run", args, help);
  RunArguments out;
  if (help) return out;
  read_manifest_arguments("run", values, out);
  out.dry_run = values.count("dry-run") != 0;
  out.from_scratch = values.count("from-scratch") != 0;
  if (values.count("trace") != 0) out.trace = values["trace"].as<std::string>();
  out.allow_full_disk = values.count("allow-full-disk") != 0;
  out.resume = resume_of(values);
  read_log_options("run", values, out);
  read_time_box(values, out);
  read_short(values, out);
  return out;
}

namespace {

// "a,b" as a TOML list of strings.
std::string list_text(const std::string& names) {
  std::string text = "[";
  for (std::size_t begin = 0; begin <= names.size();) {
    const std::size_t end = std::min(names.find(',', begin), names.size());
    text += (begin == 0 ? "" : ", ") + toml_string(names.substr(begin, end - begin));
    begin = end + 1;
  }
  return text + "]";
}

// A path of the command line is relative to where the command is called.
std::string absolute(const std::string& path) { return std::filesystem::absolute(path).lexically_normal().string(); }

bool is_path(const std::string& checkpoint) {
  return checkpoint != "latest" && checkpoint != "best" &&
         (checkpoint.empty() || checkpoint.find_first_not_of("0123456789") != checkpoint.npos);
}

}  // namespace

RunArguments parse_mode(const std::string& mode, const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options(mode, args, help);
  RunArguments out;
  if (help) return out;
  read_manifest_arguments(mode, values, out);
  out.sets = {"run.mode=" + toml_string(mode)};
  if (const std::string manifest = manifest_of_exported(out.manifests[0]); mode == "predict" && !manifest.empty()) {
    out.exported = std::exchange(out.manifests[0], manifest);
    for (std::string& s : sets_of_exported(out.exported)) out.sets.push_back(std::move(s));
  }
  const auto set = [&](const char* option, const std::string& key, const auto& text_of) {
    if (values.count(option) != 0) out.sets.push_back(key + "=" + text_of(values[option]));
  };
  const auto string = [](const po::variable_value& v) { return toml_string(v.as<std::string>()); };
  const auto integer = [](const po::variable_value& v) { return std::to_string(v.as<std::int64_t>()); };
  set("checkpoint", "run.checkpoint", [&](const po::variable_value& v) {
    const auto& text = v.as<std::string>();
    return toml_string(is_path(text) && !text.empty() ? absolute(text) : text);
  });
  if (values.count("prompt") != 0 && (values.count("keys") != 0 || values.count("format") != 0))
    throw UsageError("belay predict: --prompt samples text, to which --keys and --format do not apply; leave them out");
  set("keys", "predict.keys", [](const po::variable_value& v) { return list_text(v.as<std::string>()); });
  set("format", "predict.format", string);
  set("output", "predict.output",
      [](const po::variable_value& v) { return toml_string(absolute(v.as<std::string>())); });
  set("prompt", "predict.prompt", string);
  set("length", "predict.length", integer);
  set("temperature", "predict.temperature",
      [](const po::variable_value& v) { return detail::number_text(v.as<double>()); });
  set("seed", "predict.seed", integer);
  for (const std::string& s : sets_of(values)) out.sets.push_back(s);
  read_log_options(mode, values, out);
  return out;
}

ManifestArguments parse_check(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("check", args, help);
  ManifestArguments out;
  if (!help) read_manifest_arguments("check", values, out);
  return out;
}

ShowArguments parse_show(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("show", args, help);
  ShowArguments out;
  if (help) return out;
  read_manifest_arguments("show", values, out);
  out.origin = values.count("origin") != 0;
  return out;
}

GraphArguments parse_graph(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("graph", args, help);
  GraphArguments out;
  if (help) return out;
  read_manifest_arguments("graph", values, out);
  out.plan = values.count("plan") != 0;
  out.json = values.count("json") != 0;
  const bool dot = values.count("dot") != 0, svg = values.count("svg") != 0;
  if (out.json + dot + svg > 1)
    throw UsageError("belay graph: --json, --dot and --svg are three formats; give one; see belay graph --help");
  if (dot || svg) out.drawing = dot ? GraphDrawing::kDot : GraphDrawing::kSvg;
  if (out.plan && (dot || svg))
    throw UsageError("belay graph: a drawing has no --plan; take --plan or the drawing away");
  out.nodes = values.count("nodes") != 0;
  if (out.nodes && !dot && !svg) throw UsageError("belay graph: --nodes is for a drawing; add --dot or --svg");
  return out;
}

PluginsArguments parse_plugins(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("plugins", args, help);
  if (!help && values.count("argument") != 0)
    throw UsageError("belay plugins takes no argument; belay describe NAME shows one plugin");
  return {values.count("json") != 0};
}

SchemaArguments parse_schema(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("schema", args, help);
  if (!help && values.count("argument") != 0) throw UsageError("belay schema takes no argument; it prints to stdout");
  return {};
}

DoctorArguments parse_doctor(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("doctor", args, help);
  DoctorArguments out;
  if (!help && values.count("argument") != 0) out.directory = one_argument("doctor", values, "directory");
  return out;
}

ValidateArguments parse_validate(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("validate", args, help);
  ValidateArguments out;
  if (help) return out;
  out.file = one_argument("validate", values, "plugin file");
  out.options.sets = sets_of(values);
  out.options.seed = values["seed"].as<std::uint64_t>();
  out.options.seconds = values["seconds"].as<double>();
  if (!(out.options.seconds >= 0.1 && out.options.seconds <= 86400))
    throw UsageError("belay validate: --seconds must be from 0.1 to 86400");
  if (values.count("fuzz") != 0) {
    out.options.fuzz_seconds = values["fuzz"].as<double>();
    if (!(out.options.fuzz_seconds >= 0.1 && out.options.fuzz_seconds <= 86400))
      throw UsageError("belay validate: --fuzz must be from 0.1 to 86400 seconds");
  }
  if (values.count("fuzz-case") != 0) {
    if (values.count("fuzz") != 0)
      throw UsageError("belay validate: --fuzz-case is one case of --fuzz; give one of both");
    out.options.fuzz_case = values["fuzz-case"].as<std::uint64_t>();
  }
  out.options.in_process = values.count("in-process") != 0;
  out.json = values.count("json") != 0;
  return out;
}

ExamplesArguments parse_examples(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("examples", args, help);
  if (help || values.count("argument") == 0) return {};
  return {values["argument"].as<std::vector<std::string>>()};
}

NewArguments parse_new(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("new", args, help);
  if (help) return {};
  const auto given =
      values.count("argument") == 0 ? std::vector<std::string>{} : values["argument"].as<std::vector<std::string>>();
  if (given.size() != 2)
    throw UsageError("belay new takes a kind and a name, as in: belay new hook loss_ceiling; see belay new --help");
  return {given[0], given[1]};
}

DescribeArguments parse_describe(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("describe", args, help);
  if (help) return {};
  return {one_argument("describe", values, "plugin"), values.count("json") != 0};
}

namespace {

constexpr struct {
  const char* name;
  std::size_t paths;
  const char* options;  // with a space behind each
} kVerbs[] = {{"ls", 1, "json "},
              {"show", 1, "json only tensor saver "},
              {"verify", 1, "json saver "},
              {"diff", 2, "json only saver "},
              {"convert", 2, "json only saver source-saver "},
              {"rm", 1, "json force "},
              {"pin", 1, "json off "}};

std::string text_of(const po::variables_map& values, const char* option) {
  return values.count(option) == 0 ? std::string() : values[option].as<std::string>();
}

// "." and ".." do not say what they are called.
std::string with_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string last = std::filesystem::path(path).filename().string();
  return last == "." || last == ".." ? absolute(path) : path;
}

// The verb's row; its paths are counted, and options of other verbs refused.
void check_verb(const std::vector<std::string>& given, const po::variables_map& values) {
  const std::string see = "; see belay checkpoint --help";
  const std::vector<std::string> known = checkpoint_verbs();
  const std::string name = given.empty() ? "" : given[0];
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const auto& v) { return v.name == name; });
  if (given.empty()) throw UsageError("belay checkpoint takes what to do (" + joined(known) + ") and a path" + see);
  if (verb == std::end(kVerbs))
    throw UsageError("belay checkpoint has no '" + escaped(name) + "'" + did_you_mean(name, known) + see);
  if (given.size() != verb->paths + 1)
    throw UsageError("belay checkpoint " + name + " takes " + (verb->paths == 1 ? "one path" : "two paths") + ", " +
                     std::to_string(given.size() - 1) + " were given" + see);
  const std::string options = " " + std::string(verb->options);
  for (const auto& [option, value] : values)
    if (option != "argument" && options.find(" " + option + " ") == options.npos)
      throw UsageError("belay checkpoint " + name + " has no option --" + option + see);
}

// "100:200", ":200", "100:", "100".
void parse_steps(const std::string& text, EventsArguments& out) {
  const auto number = [&](std::string_view part, std::int64_t& value) {
    if (part.empty()) return;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), value);
    if (error != std::errc() || end != part.data() + part.size())
      throw UsageError("belay events: --steps is \"" + escaped(text) + "\", must be FIRST:LAST, as in 100:200 or 100:");
  };
  const std::string_view all = text;
  const std::size_t colon = all.find(':');
  number(all.substr(0, colon), out.first_step);
  if (colon == all.npos)
    out.last_step = out.first_step;
  else
    number(all.substr(colon + 1), out.last_step);
}

}  // namespace

CheckpointArguments parse_checkpoint(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("checkpoint", args, help);
  CheckpointArguments out;
  if (help) return out;
  const auto given =
      values.count("argument") == 0 ? std::vector<std::string>{} : values["argument"].as<std::vector<std::string>>();
  check_verb(given, values);
  out.verb = given[0];
  out.path = with_name(given[1]);
  if (given.size() > 2) out.second = with_name(given[2]);
  out.saver = text_of(values, "saver");
  out.source_saver = text_of(values, "source-saver");
  out.only = text_of(values, "only");
  out.tensor = text_of(values, "tensor");
  out.force = values.count("force") != 0;
  out.off = values.count("off") != 0;
  out.json = values.count("json") != 0;
  return out;
}

EventsArguments parse_events(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("events", args, help);
  EventsArguments out;
  if (help) return out;
  out.path = one_argument("events", values, "directory or event file");
  out.tag = text_of(values, "tag");
  if (values.count("steps") != 0) parse_steps(text_of(values, "steps"), out);
  out.all = values.count("all") != 0;
  if (values.count("json") != 0 && values.count("csv") != 0)
    throw UsageError("belay events: --json and --csv are two formats; give one; see belay events --help");
  if (values.count("json") != 0) out.format = EventsFormat::kJson;
  if (values.count("csv") != 0) out.format = EventsFormat::kCsv;
  return out;
}

namespace {

std::vector<std::string> run_arguments(const std::string& command, const po::variables_map& values,
                                       std::size_t at_least) {
  auto given =
      values.count("argument") == 0 ? std::vector<std::string>{} : values["argument"].as<std::vector<std::string>>();
  if (given.size() >= at_least) return given;
  throw UsageError("belay " + command + " takes " +
                   (at_least == 1 ? "a run's directory" : "two or more runs' directories") + ", " +
                   (given.empty() ? "none was" : std::to_string(given.size()) + " was") + " given; see belay " +
                   command + " --help");
}

}  // namespace

MigrateArguments parse_migrate(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("migrate", args, help);
  if (help) return {};
  return {one_argument("migrate", values, "manifest"), text_of(values, "output")};
}

ReportArguments parse_report(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("report", args, help);
  if (help) return {};
  ReportArguments out{run_arguments("report", values, 1), text_of(values, "output")};
  if (out.runs.size() > 1 && out.output.empty())
    throw UsageError(
        "belay report: a page about several runs is in none of their directories; name it by --output FILE");
  return out;
}

CompareArguments parse_compare(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("compare", args, help);
  if (help) return {};
  return {run_arguments("compare", values, 2), text_of(values, "metric"), values.count("json") != 0};
}

ReplayRequest parse_replay(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("replay", args, help);
  ReplayRequest out;
  if (help) return out;
  out.run = one_argument("replay", values, "run's directory");
  out.first_non_finite = values.count("first-non-finite") != 0;
  if (values.count("step") == 0 && !out.first_non_finite)
    throw UsageError("belay replay: --step N says which step to look at; see belay replay --help");
  for (const char* option : {"to", "hook", "hooks", "fetch", "batch", "what-if", "all-tensors"})
    if (out.first_non_finite && values.count(option) != 0)
      throw UsageError(std::string("belay replay: --first-non-finite finds the step by itself and sees all tensors; "
                                   "leave --") +
                       option + " out, and look at the step that it finds by --step");
  if (values.count("step") != 0) out.first = values["step"].as<std::int64_t>();
  out.last = values.count("to") == 0 ? out.first : values["to"].as<std::int64_t>();
  if (out.first < 1 && values.count("step") != 0)
    throw UsageError("belay replay: --step must be at least 1, the first step of a run");
  if (out.last < out.first) throw UsageError("belay replay: --to must not be smaller than --step");
  const auto texts = [&](const char* option) {
    return values.count(option) == 0 ? std::vector<std::string>() : values[option].as<std::vector<std::string>>();
  };
  out.hooks = texts("hook");
  out.hook_files = texts("hooks");
  out.fetches = texts("fetch");
  out.batch = values.count("batch") != 0;
  out.what_if = values.count("what-if") != 0;
  out.all_tensors = values.count("all-tensors") != 0;
  if (const std::string output = text_of(values, "out"); !output.empty()) out.output = absolute(output);
  return out;
}

BisectArguments parse_bisect(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("bisect", args, help);
  BisectArguments out;
  if (help) return out;
  out.runs = run_arguments("bisect", values, 2);
  if (out.runs.size() != 2)
    throw UsageError("belay bisect: two runs are compared, these are " + std::to_string(out.runs.size()));
  // A path as it is seen from here; a name is looked for in PATH.
  const auto program = [&](const char* option) {
    const std::string text = text_of(values, option);
    return text.find('/') == text.npos ? text : absolute(text);
  };
  out.belay_a = program("belay-a");
  out.belay_b = program("belay-b");
  if (const std::string output = text_of(values, "out"); !output.empty()) out.output = absolute(output);
  out.json = values.count("json") != 0;
  return out;
}

ReduceArguments parse_reduce(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse_options("reduce", args, help);
  ReduceArguments out;
  if (help) return out;
  out.run = one_argument("reduce", values, "run's directory");
  if (const std::string output = text_of(values, "out"); !output.empty()) out.output = absolute(output);
  out.seconds = values["timeout"].as<double>();
  if (!(out.seconds > 0)) throw UsageError("belay reduce: --timeout must be above 0");
  return out;
}

std::vector<std::string> checkpoint_verbs() {
  std::vector<std::string> verbs;
  for (const auto& verb : kVerbs) verbs.emplace_back(verb.name);
  return verbs;
}

}  // namespace belay::runtime
