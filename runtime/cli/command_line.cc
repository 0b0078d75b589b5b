// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <charconv>
#include <filesystem>
#include <sstream>
#include <utility>

#include "belay/detail/parse_options.h"  // number_text
#include "runtime/cli/exported_folder.h"
#include "runtime/manifest/toml_text.h"
#include "runtime/platform/text.h"

namespace po = boost::program_options;

namespace belay::runtime {
namespace {

struct Command {
  const char* name;
  const char* arguments;
  const char* what;
};

constexpr Command kCommands[] = {
    {"run", "MANIFEST.toml", "trains what the manifest describes"},
    {"evaluate", "MANIFEST.toml", "evaluates a checkpoint on the manifest's evaluation inputs"},
    {"predict", "MANIFEST.toml|DIR", "prints what the model predicts, or text that follows a prompt"},
    {"export", "MANIFEST.toml", "writes a checkpoint's model for other programs, with the manifest's exporters"},
    {"check", "MANIFEST.toml", "finds everything that is wrong with a manifest, without running it"},
    {"show", "MANIFEST.toml", "prints the effective manifest, every default filled in"},
    {"graph", "MANIFEST.toml", "prints the graph that a manifest describes, and how a training step runs it"},
    {"checkpoint", "ls|show|verify|diff|convert|rm|pin PATH",
     "looks at checkpoints and other files of tensors, and works on them"},
    {"events", "DIR", "prints what a run's event files hold"},
    {"plugins", "", "lists the plugins that are found, and the files that are not usable"},
    {"describe", "NAME|KIND:NAME|FILE.so", "shows what a plugin is and what options it takes"},
    {"validate", "FILE.so", "tries a plugin library against the whole contract, each check in a process of its own"},
    {"new", "KIND NAME", "makes a folder NAME with a plugin that works: source, test, build, manifest"},
    {"schema", "", "prints the manifest's JSON Schema, with the options of every plugin that is found"},
};

po::options_description options_of(std::string_view command) {
  po::options_description d("options");
  auto add = d.add_options();
  const bool mode = command == "evaluate" || command == "predict" || command == "export";
  if (command == "run" || mode || command == "check" || command == "show" || command == "graph")
    add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
        "overrides a key of the manifest; may be given again");
  if (command == "run") {
    add("dry-run", "says what would be done; writes nothing");
    add("from-scratch", "begins at step 0; what an earlier run left is moved aside");
    add("resume", po::value<std::vector<std::string>>()->value_name("changed|must"),
        "changed: goes on with a manifest or data that make it another training; must: a checkpoint has to be there");
    add("exact", "ends with status 2 where the bits may not be those of a run that was never stopped");
    add("log-format", po::value<std::string>()->default_value("text")->value_name("text|json"), "of the log on stderr");
  }
  if (mode) {
    add("checkpoint", po::value<std::string>()->value_name("latest|best|N|PATH"), "whose variables are used (latest)");
    add("log-format", po::value<std::string>()->default_value("text")->value_name("text|json"), "of the log on stderr");
  }
  if (command == "predict") {
    add("keys", po::value<std::string>()->value_name("NAME,..."), "which predictions; all, if it is not given");
    add("format", po::value<std::string>()->value_name("auto|jsonl|csv|npy"),
        "auto: by the output's ending, else jsonl");
    add("output", po::value<std::string>()->value_name("FILE"), "which appears whole or not at all; else stdout");
    add("prompt", po::value<std::string>()->value_name("TEXT"), "samples text that follows this");
    add("length", po::value<std::int64_t>()->value_name("N"), "characters to sample (200)");
    add("temperature", po::value<double>()->value_name("T"), "of the sampling; 0: the most probable character (1)");
    add("seed", po::value<std::int64_t>()->value_name("N"), "of the sampling (42)");
  }
  if (command == "checkpoint") {
    const auto text = [] { return po::value<std::string>(); };
    add("only", text()->value_name("REGEX"), "show, diff, convert: tensors whose names it matches from their start");
    add("tensor", text()->value_name("NAME"), "show: the values of this one");
    add("saver", text()->value_name("NAME"),
        "convert: what writes; else what reads a file that does not show its saver");
    add("source-saver", text()->value_name("NAME"), "convert: what reads a file that does not show its saver");
    add("force", "rm: also what the run needs");
    add("off", "pin: takes the mark away");
  }
  if (command == "events") {
    add("tag", po::value<std::string>()->value_name("REGEX"), "tags that it matches from their start");
    add("steps", po::value<std::string>()->value_name("FIRST:LAST"), "steps in this range; either may be left out");
    add("all", "also what a later attempt did again");
    add("csv", "as CSV");
  }
  if (command == "graph") add("plan", "runs some training steps and reports the time of each node; writes nothing");
  if (command == "validate") {
    add("set", po::value<std::vector<std::string>>()->value_name("OPTION=VALUE"),
        "an option of the plugin; may be given again");
    add("seed", po::value<std::uint64_t>()->default_value(42)->value_name("N"), "of everything random");
    add("seconds", po::value<double>()->default_value(30)->value_name("S"), "that a check may take");
    add("in-process", "no child processes, for a debugger; the first crash ends everything");
  }
  if (command == "plugins" || command == "describe" || command == "validate" || command == "graph" ||
      command == "checkpoint" || command == "events")
    add("json", "as JSON");
  add("help", "this help");
  return d;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : kCommands)
    if (name == c.name) return &c;
  return nullptr;
}

po::variables_map parse(const std::string& command, const std::vector<std::string>& args, bool& help) {
  po::options_description all = options_of(command);
  all.add_options()("argument", po::value<std::vector<std::string>>());
  po::positional_options_description positional;
  positional.add("argument", -1);
  po::variables_map values;
  const std::string see = "; see belay " + command + " --help";
  try {
    using style = po::command_line_style::style_t;
    po::store(po::command_line_parser(args)
                  .options(all)
                  .positional(positional)
                  .style(style::unix_style & ~style::allow_guessing)
                  .run(),
              values);
    po::notify(values);
  } catch (const po::unknown_option& e) {
    std::string name = e.get_option_name();
    while (!name.empty() && name[0] == '-') name.erase(0, 1);
    std::vector<std::string> known;
    const po::options_description options = options_of(command);
    for (const auto& o : options.options()) known.push_back(o->long_name());
    throw UsageError("belay " + command + " has no option --" + escaped(name) + did_you_mean(name, known) + see);
  } catch (const po::error& e) {
    throw UsageError("belay " + command + ": " + escaped(e.what()) + see);
  }
  help = values.count("help") != 0;
  return values;
}

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
  const std::string format = values["log-format"].as<std::string>();
  if (format != "text" && format != "json")
    throw UsageError("belay " + command + ": --log-format is \"" + escaped(format) + "\", must be text or json");
  return format == "json" ? LogFormat::kJson : LogFormat::kText;
}

}  // namespace

RunArguments parse_run(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("run", args, help);
  RunArguments out;
  if (help) return out;
  out.manifest = one_argument("run", values, "manifest");
  out.sets = sets_of(values);
  out.dry_run = values.count("dry-run") != 0;
  out.from_scratch = values.count("from-scratch") != 0;
  out.resume = resume_of(values);
  out.log_format = log_format_of("run", values);
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
  const po::variables_map values = parse(mode, args, help);
  RunArguments out;
  if (help) return out;
  out.manifest = one_argument(mode, values, "manifest");
  out.sets = {"run.mode=" + toml_string(mode)};
  if (const std::string manifest = manifest_of_exported(out.manifest); mode == "predict" && !manifest.empty()) {
    out.exported = std::exchange(out.manifest, manifest);
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
  out.log_format = log_format_of(mode, values);
  return out;
}

ManifestArguments parse_manifest_command(const std::string& command, const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse(command, args, help);
  if (help) return {};
  return {one_argument(command, values, "manifest"), sets_of(values)};
}

GraphArguments parse_graph(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("graph", args, help);
  if (help) return {};
  return {one_argument("graph", values, "manifest"), sets_of(values), values.count("plan") != 0,
          values.count("json") != 0};
}

PluginsArguments parse_plugins(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("plugins", args, help);
  if (!help && values.count("argument") != 0)
    throw UsageError("belay plugins takes no argument; belay describe NAME shows one plugin");
  return {values.count("json") != 0};
}

SchemaArguments parse_schema(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("schema", args, help);
  if (!help && values.count("argument") != 0) throw UsageError("belay schema takes no argument; it prints to stdout");
  return {};
}

ValidateArguments parse_validate(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("validate", args, help);
  ValidateArguments out;
  if (help) return out;
  out.file = one_argument("validate", values, "plugin file");
  out.options.sets = sets_of(values);
  out.options.seed = values["seed"].as<std::uint64_t>();
  out.options.seconds = values["seconds"].as<double>();
  if (!(out.options.seconds >= 0.1 && out.options.seconds <= 86400))
    throw UsageError("belay validate: --seconds must be from 0.1 to 86400");
  out.options.in_process = values.count("in-process") != 0;
  out.json = values.count("json") != 0;
  return out;
}

NewArguments parse_new(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("new", args, help);
  if (help) return {};
  const auto given =
      values.count("argument") == 0 ? std::vector<std::string>{} : values["argument"].as<std::vector<std::string>>();
  if (given.size() != 2)
    throw UsageError("belay new takes a kind and a name, as in: belay new hook loss_ceiling; see belay new --help");
  return {given[0], given[1]};
}

DescribeArguments parse_describe(const std::vector<std::string>& args, bool& help) {
  const po::variables_map values = parse("describe", args, help);
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
  std::vector<std::string> known;
  for (const auto& verb : kVerbs) known.emplace_back(verb.name);
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
  const po::variables_map values = parse("checkpoint", args, help);
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
  const po::variables_map values = parse("events", args, help);
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

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& c : kCommands) names.emplace_back(c.name);
  return names;
}

std::string help_text() {
  std::ostringstream out;
  out << "belay trains models that plugins and a manifest describe.\n\nusage: belay COMMAND [ARGUMENTS]\n\n";
  for (const Command& c : kCommands) {
    std::string left = std::string(c.name) + " " + c.arguments;
    left.resize(std::max<std::size_t>(left.size() + 2, 34), ' ');
    out << "  " << left << c.what << "\n";
  }
  out << "\n  belay COMMAND --help lists its options; belay --version describes this build\n"
         "\nexit status: 0 done, 1 training failed, 2 usage or manifest, 3 plugin, 4 diverged, 5 no checkpoint can be\n"
         "restored, 6 run directory in use, 7 last save failed, 124 no progress, 130/143 stopped by a signal\n";
  return out.str();
}

std::string help_text(std::string_view name) {
  const Command* c = find_command(name);
  if (c == nullptr) return "";
  std::ostringstream out;
  out << "usage: belay " << c->name << (*c->arguments == 0 ? "" : " ") << c->arguments << " [OPTIONS]\n\n"
      << c->what << "\n\n"
      << options_of(name);
  return out.str();
}

}  // namespace belay::runtime
