// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <sstream>
#include <utility>

#include "runtime/cli/command_options.h"
#include "runtime/manifest/other_names.h"
#include "runtime/manifest/parse.h"
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
    {"run", "MANIFEST.toml...", "trains what the manifest describes"},
    {"evaluate", "MANIFEST.toml...", "evaluates a checkpoint on the manifest's evaluation inputs"},
    {"predict", "MANIFEST.toml...|DIR", "prints what the model predicts, or text that follows a prompt"},
    {"export", "MANIFEST.toml...", "writes a checkpoint's model for other programs, with the manifest's exporters"},
    {"check", "MANIFEST.toml...", "finds everything that is wrong with a manifest, without running it"},
    {"show", "MANIFEST.toml...", "prints the effective manifest, every default filled in"},
    {"graph", "MANIFEST.toml...", "prints the graph that a manifest describes, and how a training step runs it"},
    {"checkpoint", "ls|show|verify|diff|convert|rm|pin PATH",
     "looks at checkpoints and other files of tensors, and works on them"},
    {"events", "DIR", "prints what a run's event files hold"},
    {"report", "DIR [DIR...]", "writes a page with a run's curves, checkpoints and model, and prints a summary"},
    {"compare", "DIR DIR...", "prints the best and last metrics of runs, and what differs in their manifests"},
    {"replay", "DIR", "makes steps of a run again, with hooks that were not there, and proves that they are the same"},
    {"bisect", "A B", "finds the first step and tensor in which two runs differ"},
    {"reduce", "DIR", "makes the smallest manifest and data that end with the same error as a run"},
    {"plugins", "", "lists the plugins that are found, and the files that are not usable"},
    {"describe", "NAME|KIND:NAME|FILE.so|EXPORT", "shows a plugin and its options, or what an export holds"},
    {"validate", "FILE.so", "tries a plugin library against the whole contract, each check in a process of its own"},
    {"new", "KIND NAME", "makes a folder NAME with a plugin that works: source, test, build, manifest"},
    {"examples", "[NAME...]", "lists manifests to begin with, and makes them in this folder"},
    {"migrate", "MANIFEST.toml",
     "writes a manifest of an older spelling, or with other programs' keys, as it is written now"},
    {"schema", "", "prints the manifest's JSON Schema, with the options of every plugin that is found"},
    {"doctor", "[DIR]", "looks at this machine, the disk of DIR and the plugin path, and names what is odd"},
};

po::options_description options_of(std::string_view command) {
  po::options_description d("options");
  auto add = d.add_options();
  const bool mode = command == "evaluate" || command == "predict" || command == "export";
  if (command == "run" || mode || command == "check" || command == "show" || command == "graph") {
    add("set", po::value<std::vector<std::string>>()->value_name("KEY=VALUE"),
        "overrides a key of the manifest; may be given again");
    add("diagnostics", po::value<std::string>()->default_value("text")->value_name("text|json"),
        "what is wrong with the manifest: json for editors, a line each on stderr");
  }
  if (command == "show") add("origin", "with the file and line of each value");
  if (command == "run") {
    add("dry-run", "says what would be done; writes nothing");
    add("from-scratch", "begins at step 0; what an earlier run left is moved aside");
    add("resume", po::value<std::vector<std::string>>()->value_name("changed|must"),
        "changed: goes on with a manifest or data that make it another training; must: a checkpoint has to be there");
    add("exact", "ends with status 2 where the bits may not be those of a run that was never stopped");
    add("max-time", po::value<std::string>()->value_name("TIME"),
        "saves and ends when so much time has passed, as in 90s, 15m, 2h or 1h30m");
    add("requeue-status", po::value<int>()->value_name("N"), "the exit status where --max-time ended it (0)");
    add("trace", po::value<std::string>()->implicit_value("")->value_name("FILE"),
        "writes what each step, hook and operation did when, for ui.perfetto.dev (trace.json in the run's directory)");
    add("allow-full-disk", "trains although the disk has no room for a checkpoint");
    add("short", po::value<std::int64_t>()->value_name("N"),
        "N steps in a directory that is removed at the end, to see whether it works");
  }
  if (mode)
    add("checkpoint", po::value<std::string>()->value_name("latest|best|N|PATH"), "whose variables are used (latest)");
  if (command == "run" || mode) {
    add("log-format", po::value<std::string>()->default_value("text")->value_name("text|json"), "of the log on stderr");
    add("quiet,q", "only warnings and errors in the log");
    add("verbose,v", "what is for those who look for a fault, too");
    add("color", po::value<std::string>()->default_value("auto")->value_name("auto|always|never"), "in the log");
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
  if (command == "migrate")
    add("output", po::value<std::string>()->value_name("FILE"), "where to; else the manifest itself, - is stdout");
  if (command == "report")
    add("output", po::value<std::string>()->value_name("FILE"), "the page; else report.html in the run's directory");
  if (command == "compare")
    add("metric", po::value<std::string>()->value_name("REGEX"), "metrics that it matches from their start");
  if (command == "reduce") {
    add("out", po::value<std::string>()->value_name("DIR2"), "the folder to make; else ./reduced-RUN");
    add("timeout", po::value<double>()->default_value(300, "300")->value_name("SECONDS"), "how long a trial may take");
  }
  if (command == "replay") {
    const auto texts = [] { return po::value<std::vector<std::string>>(); };
    add("step", po::value<std::int64_t>()->value_name("N"), "the first step that is looked at");
    add("to", po::value<std::int64_t>()->value_name("M"), "the last one; else N alone");
    add("hook", texts()->value_name("NAME{OPTIONS}"), "a hook for these steps, options as TOML; may be given again");
    add("hooks", texts()->value_name("FILE"), "the [[hooks]] of a TOML file; may be given again");
    add("fetch", texts()->value_name("TENSOR"), "a role or node that goes into step-N.npz; may be given again");
    add("batch", "the input's features and labels go into step-N.npz");
    add("all-tensors", "every tensor that these steps compute goes into step-N.npz, their order into step-N.json");
    add("first-non-finite",
        "finds the first step and tensor that is NaN or infinite, behind the newest checkpoint or that before N");
    add("out", po::value<std::string>()->value_name("DIR2"), "where hooks and tensors write; else ./replay-of-RUN-N");
    add("what-if", "hooks may change the run, plugins and data may be others");
  }
  if (command == "bisect") {
    add("belay-a", po::value<std::string>()->value_name("P"), "the program that replays A; else this one");
    add("belay-b", po::value<std::string>()->value_name("P"), "the program that replays B; else this one");
    add("out", po::value<std::string>()->value_name("DIR"), "where the replays stay; else they are removed");
  }
  if (command == "graph") {
    add("plan", "runs some training steps and reports the time of each node; writes nothing");
    add("dot", "draws the model by layers in the language of Graphviz");
    add("svg", "draws the model by layers as SVG");
    add("nodes", "with --dot or --svg: draws each node of the graph");
  }
  if (command == "validate") {
    add("set", po::value<std::vector<std::string>>()->value_name("OPTION=VALUE"),
        "an option of the plugin; may be given again");
    add("seed", po::value<std::uint64_t>()->default_value(42)->value_name("N"), "of everything random");
    add("seconds", po::value<double>()->default_value(30)->value_name("S"), "that a check may take");
    add("fuzz", po::value<double>()->value_name("SECONDS"), "then random cases, for so long with each plugin");
    add("fuzz-case", po::value<std::uint64_t>()->value_name("N"), "that case alone, and no checks");
    add("in-process", "no child processes, for a debugger; the first crash ends everything");
  }
  if (command == "plugins" || command == "describe" || command == "validate" || command == "graph" ||
      command == "checkpoint" || command == "events" || command == "compare" || command == "bisect")
    add("json", "as JSON");
  add("help", "this help");
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
  out << "\n  belay COMMAND --help lists its options, belay help TOPIC prints a page: manifest, hooks, exit-statuses, "
         "...;\n"
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
