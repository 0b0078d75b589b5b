// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "runtime/cli/command_options.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/parse.h"
#include "runtime/platform/text/text.h"

namespace po = boost::program_options;

namespace belay::runtime {
namespace {

struct Command {
  const char* name;
  const char* arguments;
  const char* what;
};

constexpr Command kCommands[] = {
    {"run", "MANIFEST.toml...", "trains the model that a manifest describes"},
    {"evaluate", "MANIFEST.toml...", "evaluates a checkpoint on the manifest's evaluation inputs"},
    {"predict", "MANIFEST.toml...|DIR", "prints a model's predictions, or text that follows a prompt"},
    {"export", "MANIFEST.toml...", "writes a checkpoint's model for other programs, with the manifest's exporters"},
    {"check", "MANIFEST.toml...", "finds all errors in a manifest, without running it"},
    {"show", "MANIFEST.toml...", "prints the effective manifest, with all defaults"},
    {"graph", "MANIFEST.toml...", "prints the graph of a manifest, and how a training step runs it"},
    {"checkpoint", "ls|show|verify|diff|convert|rm|pin PATH",
     "lists, shows, compares, converts and removes checkpoints and other tensor files"},
    {"events", "DIR", "prints the contents of a run's event files"},
    {"report", "DIR [DIR...]", "writes a web page with a run's curves, checkpoints and model, and prints a summary"},
    {"compare", "DIR DIR...", "prints the best and last metrics of runs, and the differences of their manifests"},
    {"replay", "DIR", "repeats steps of a run with additional hooks, and proves that the steps are the same"},
    {"bisect", "A B", "finds the first step and tensor in which two runs differ"},
    {"reduce", "DIR", "makes the smallest manifest and data that fail with the same error as a run"},
    {"plugins", "", "lists the plugins that are found, and the files that cannot be used"},
    {"describe", "NAME|KIND:NAME|FILE.so|EXPORT", "shows a plugin and its options, or the contents of an export"},
    {"validate", "FILE.so", "tests a plugin library against the whole contract, each check in a separate process"},
    {"new", "KIND NAME", "makes a folder NAME with a working plugin: source, test, build, manifest"},
    {"examples", "[NAME...]", "lists example manifests, or writes those named into this folder"},
    {"migrate", "MANIFEST.toml",
     "rewrites a manifest with old spellings, or with other programs' keys, in the current form"},
    {"schema", "", "prints the manifest's JSON Schema, with the options of every plugin that is found"},
    {"doctor", "[DIR]", "checks this machine, the disk of DIR and the plugin path, and reports problems"},
};

po::options_description options_of(std::string_view command) {
  po::options_description d("options");
  auto add = d.add_options();
  const bool mode = command == "evaluate" || command == "predict" || command == "export";
  if (command == "run" || mode || command == "check" || command == "show" || command == "graph") {
    add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
        "sets a key of the manifest; may be repeated");
    add("diagnostics", po::value<std::string>()->default_value("text")->value_name("text|json"),
        "format of the manifest's errors; json: for editors, one line per error on stderr");
  }
  if (command == "show") add("origin", "also prints the file and line of each value");
  if (command == "run") {
    add("dry-run", "prints what the run would do, and writes nothing");
    add("from-scratch", "begins at step 0, and moves the files of an earlier run aside");
    add("resume", po::value<std::vector<std::string>>()->value_name("changed|must"),
        "changed: continues although the manifest or data make it a different training; must: fails without a "
        "checkpoint");
    add("exact", "exits with status 2 if the result may differ in a bit from a run that was never stopped");
    add("max-time", po::value<std::string>()->value_name("TIME"),
        "saves and ends after this time, such as 90s, 15m, 2h or 1h30m");
    add("requeue-status", po::value<int>()->value_name("N"), "exit status if --max-time ended the run (0)");
    add("trace", po::value<std::string>()->implicit_value("")->value_name("FILE"),
        "writes the times of steps, hooks and operations for ui.perfetto.dev (trace.json in the run's directory)");
    add("allow-full-disk", "trains even if the disk has no room for a checkpoint");
    add("short", po::value<std::int64_t>()->value_name("N"),
        "trains N steps in a temporary directory, as a quick test");
  }
  if (mode) add("checkpoint", po::value<std::string>()->value_name("latest|best|N|PATH"), "checkpoint to use (latest)");
  if (command == "run" || mode) {
    add("log-format", po::value<std::string>()->default_value("text")->value_name("text|json"),
        "format of the log on stderr");
    add("quiet,q", "logs only warnings and errors");
    add("verbose,v", "also logs debugging details");
    add("color", po::value<std::string>()->default_value("auto")->value_name("auto|always|never"), "in the log");
  }
  if (command == "predict") {
    add("keys", po::value<std::string>()->value_name("NAME,..."), "names of the predictions to write (all)");
    add("format", po::value<std::string>()->value_name("auto|jsonl|csv|npy"),
        "format of the predictions; auto: by the ending of --output, else jsonl");
    add("output", po::value<std::string>()->value_name("FILE"),
        "file to write, which appears as a whole or not at all (stdout)");
    add("prompt", po::value<std::string>()->value_name("TEXT"), "samples text that follows TEXT");
    add("length", po::value<std::int64_t>()->value_name("N"), "number of characters to sample (200)");
    add("temperature", po::value<double>()->value_name("T"),
        "temperature of the sampling; 0: always the most probable character (1)");
    add("seed", po::value<std::int64_t>()->value_name("N"), "seed of the sampling (42)");
  }
  if (command == "checkpoint") {
    const auto text = [] { return po::value<std::string>(); };
    add("only", text()->value_name("REGEX"),
        "show, diff, convert: only tensors whose names begin with a match of REGEX");
    add("tensor", text()->value_name("NAME"), "show: prints the values of this tensor");
    add("saver", text()->value_name("NAME"),
        "convert: the saver that writes; show, verify, diff: the saver that reads a file, whatever its name");
    add("source-saver", text()->value_name("NAME"), "convert: the saver that reads the source, if that is a file");
    add("force", "rm: also removes checkpoints that the run needs");
    add("off", "pin: removes the mark");
  }
  if (command == "events") {
    add("tag", po::value<std::string>()->value_name("REGEX"), "prints only tags that begin with a match of REGEX");
    add("steps", po::value<std::string>()->value_name("FIRST:LAST"),
        "prints only steps in this range; either end may be left out");
    add("all", "also prints steps that a later attempt repeated");
    add("csv", "prints CSV");
  }
  if (command == "migrate")
    add("output", po::value<std::string>()->value_name("FILE"), "file to write, - for stdout (the manifest itself)");
  if (command == "report")
    add("output", po::value<std::string>()->value_name("FILE"),
        "file of the page (report.html in the run's directory)");
  if (command == "compare")
    add("metric", po::value<std::string>()->value_name("REGEX"),
        "prints only metrics that begin with a match of REGEX");
  if (command == "reduce") {
    add("out", po::value<std::string>()->value_name("DIR2"), "folder to make (./reduced-RUN)");
    add("timeout", po::value<double>()->default_value(300, "300")->value_name("SECONDS"), "time limit of one trial");
  }
  if (command == "replay") {
    const auto texts = [] { return po::value<std::vector<std::string>>(); };
    add("step", po::value<std::int64_t>()->value_name("N"), "first step to examine");
    add("to", po::value<std::int64_t>()->value_name("M"), "last step to examine (N)");
    add("hook", texts()->value_name("NAME{OPTIONS}"),
        "adds a hook for these steps, with options as TOML; may be repeated");
    add("hooks", texts()->value_name("FILE"), "adds the [[hooks]] of a TOML file; may be repeated");
    add("fetch", texts()->value_name("TENSOR"), "writes a role or node of the model to step-N.npz; may be repeated");
    add("batch", "writes the input's features and labels to step-N.npz");
    add("all-tensors", "writes every tensor of these steps to step-N.npz, and their order to step-N.json");
    add("first-non-finite",
        "finds the first NaN or infinite tensor and its step, after the newest checkpoint or after the one before N");
    add("out", po::value<std::string>()->value_name("DIR2"),
        "folder for the files of hooks and tensors (./replay-of-RUN-N)");
    add("what-if", "allows hooks that change the run, and other plugins and data");
  }
  if (command == "bisect") {
    add("belay-a", po::value<std::string>()->value_name("P"), "program that replays A (this program)");
    add("belay-b", po::value<std::string>()->value_name("P"), "program that replays B (this program)");
    add("out", po::value<std::string>()->value_name("DIR"),
        "folder that keeps the replays; without it they are removed");
  }
  if (command == "graph") {
    add("plan", "runs some training steps and reports the time of each node; writes nothing");
    add("dot", "draws the model by layers in the language of Graphviz");
    add("svg", "draws the model by layers as SVG");
    add("nodes", "with --dot or --svg: draws each node of the graph");
  }
  if (command == "validate") {
    add("set", po::value<std::vector<std::string>>()->value_name("OPTION=VALUE"),
        "sets an option of the plugin; may be repeated");
    add("seed", po::value<std::uint64_t>()->default_value(42)->value_name("N"), "seed of all random numbers");
    add("seconds", po::value<double>()->default_value(30)->value_name("S"), "time limit of one check");
    add("fuzz", po::value<double>()->value_name("SECONDS"), "then tests random cases, for this time with each plugin");
    add("fuzz-case", po::value<std::uint64_t>()->value_name("N"), "tests only random case N");
    add("in-process", "uses no child processes, for a debugger; the first crash ends everything");
  }
  if (command == "plugins" || command == "describe" || command == "validate" || command == "graph" ||
      command == "checkpoint" || command == "events" || command == "compare" || command == "bisect")
    add("json", "as JSON");
  add("help", "prints this help");
  return d;
}

const Command* find_command(std::string_view name) {
  for (const Command& c : kCommands)
    if (name == c.name) return &c;
  return nullptr;
}

// An option that is a key of the manifest, or of other programs. A plugin's options are not known here.
std::string help_for_key(std::string name) {
  std::ranges::replace(name, '-', '_');
  for (const SectionKeys& section : manifest_keys()) {
    const bool is_list = section.section == "metrics" || section.section == "optimizer.groups";
    if (!section.section.empty() && !is_list && std::ranges::find(section.keys, name) != section.keys.end())
      return ": write --set " + section.section + "." + name + "=VALUE";
  }
  if (name == "batch_size") return ": write --set input.train.batch_size=VALUE";
  const std::string other = help_for_other_key(name);
  return other.empty() ? "" : "; in the manifest, " + other + ", or --set SECTION.KEY=VALUE here";
}

}  // namespace

po::variables_map parse_options(const std::string& command, const std::vector<std::string>& args, bool& help) {
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
    name.resize(std::min(name.find('='), name.size()));
    std::vector<std::string> known;
    const po::options_description options = options_of(command);
    for (const auto& o : options.options()) known.push_back(o->long_name());
    const std::string near = did_you_mean(name, known);
    const bool sets = std::ranges::find(known, "set") != known.end();
    throw UsageError("belay " + command + " has no option --" + escaped(name) +
                     (near.empty() && sets ? help_for_key(name) : near) + see);
  } catch (const po::error& e) {
    throw UsageError("belay " + command + ": " + escaped(e.what()) + see);
  }
  help = values.count("help") != 0;
  return values;
}

std::vector<std::string> command_names() {
  std::vector<std::string> names;
  for (const Command& c : kCommands) names.emplace_back(c.name);
  return names;
}

std::string meant_command(const std::string& name) {
  constexpr std::pair<const char*, const char*> kOthers[] = {
      {"train fit start resume continue launch", "belay run MANIFEST"},
      {"eval test score", "belay evaluate MANIFEST"},
      {"infer inference sample generate", "belay predict MANIFEST"},
      {"lint verify", "belay check MANIFEST"},
      {"init create", "belay examples, or belay new for a plugin"},
      {"tensorboard plot dashboard summary", "belay report DIR"},
      {"logs metrics scalars", "belay events DIR"},
      {"convert", "belay checkpoint convert"},
      {"info inspect", "belay describe NAME, or belay checkpoint show PATH"},
      {"list ls", "belay plugins, or belay checkpoint ls DIR"},
      {"diff", "belay compare DIR DIR, or belay checkpoint diff A B"},
      {"version", "belay --version"},
  };
  for (const auto& [others, ours] : kOthers)
    if ((" " + std::string(others) + " ").find(" " + name + " ") != std::string::npos && name.find(' ') == name.npos)
      return ": write " + std::string(ours);
  return did_you_mean(name, command_names());
}

std::string help_text() {
  std::ostringstream out;
  out << "belay trains models that plugins and a manifest describe.\n\nusage: belay COMMAND [ARGUMENTS]\n\n";
  for (const Command& c : kCommands) {
    std::string left = std::string(c.name) + " " + c.arguments;
    left.resize(std::max<std::size_t>(left.size() + 2, 34), ' ');
    out << "  " << left << c.what << "\n";
  }
  out << "\n  belay COMMAND --help lists the options of a command\n"
         "  belay help TOPIC prints a page of the reference: manifest, hooks, exit-statuses, ...\n"
         "  belay --version describes this build\n"
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

std::vector<CommandText> command_texts() {
  std::vector<CommandText> all;
  for (const Command& c : kCommands) all.push_back({c.name, c.arguments, c.what});
  return all;
}

std::vector<OptionText> option_texts(std::string_view command) {
  std::vector<OptionText> all;
  const po::options_description options = options_of(command);
  for (const auto& o : options.options()) {
    std::string value = o->semantic()->max_tokens() == 0 ? "" : o->format_parameter();
    value.resize(std::min(value.find(" (="), value.size()));  // without the default
    all.push_back({"--" + o->long_name(), std::move(value), o->description()});
  }
  return all;
}

}  // namespace belay::runtime
