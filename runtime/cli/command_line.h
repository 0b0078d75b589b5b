// SPDX-License-Identifier: Apache-2.0
// The command line: which command, its options and arguments.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/error.h"
#include "runtime/estimator/replay/replay_request.h"
#include "runtime/estimator/resume/resume_check.h"
#include "runtime/platform/log/logger.h"
#include "runtime/validate/validate.h"

namespace belay::runtime {

// What the user typed is wrong; the message says what, and which options there are. Exit status 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text) : Error(Code::kInvalidArgument, text) {}
};

// What each command takes that works on a manifest.
struct ManifestArguments {
  std::vector<std::string> manifests;  // one over the other, the last wins; "-": standard input
  std::vector<std::string> sets;
  bool json_diagnostics = false;  // what is wrong with them is printed as JSON
};
struct RunArguments : ManifestArguments {
  std::string exported = {};  // the folder of an export that the manifest is of; empty: of none
  bool dry_run = false;
  bool from_scratch = false;
  ResumeOptions resume = {};
  LogFormat log_format = LogFormat::kText;
  LogLevel log_level = LogLevel::kInfo;
  Colour colour = Colour::kAuto;
  double max_seconds = 0;                 // 0: no limit
  int requeue_status = 0;                 // where max_seconds ended it
  std::optional<std::string> trace = {};  // steps, hooks and operations go there; empty: into the run's trace.json
  bool allow_full_disk = false;           // trains where no checkpoint would fit
  std::int64_t short_steps = 0;           // 0: the whole run
  bool is_short = false;                  // so its directory is none to go on with
  std::int64_t most_eval_batches = 0;     // 0: as the manifest says
};
struct ShowArguments : ManifestArguments {
  bool origin = false;  // with the place of each value
};
enum class GraphDrawing { kNone, kDot, kSvg };
struct GraphArguments : ManifestArguments {
  bool plan = false;
  bool json = false;
  GraphDrawing drawing = GraphDrawing::kNone;
  bool nodes = false;  // of a drawing: each node, not the model by layers
};
struct PluginsArguments {
  bool json = false;
};
struct SchemaArguments {};
struct ValidateArguments {
  std::string file;
  ValidateOptions options;
  bool json = false;
};
struct ExamplesArguments {
  std::vector<std::string> names;
};
struct MigrateArguments {
  std::string file;
  std::string output;  // empty: the file itself; "-": stdout
};
struct NewArguments {
  std::string kind;
  std::string name;
};
struct CheckpointArguments {
  std::string verb;  // ls, show, verify, diff, convert, rm, pin
  std::string path;
  std::string second;        // of diff and convert
  std::string saver;         // empty: by the file; of convert the one that writes
  std::string source_saver;  // of convert; empty: by the file
  std::string only;          // a regular expression; empty: all tensors
  std::string tensor;        // of show; empty: a table of all
  bool force = false;
  bool off = false;
  bool json = false;
};
enum class EventsFormat { kTable, kJson, kCsv };
struct EventsArguments {
  std::string path;
  std::string tag;  // a regular expression; empty: all tags
  std::int64_t first_step = INT64_MIN, last_step = INT64_MAX;
  bool all = false;  // also what a later attempt did again
  EventsFormat format = EventsFormat::kTable;
};
struct ReportArguments {
  std::vector<std::string> runs;  // directories, one at least
  std::string output;             // empty: report.html in the run's directory
};
struct CompareArguments {
  std::vector<std::string> runs;  // directories, two at least
  std::string metric;             // a regular expression; empty: what is_metric says
  bool json = false;
};
struct BisectArguments {
  std::vector<std::string> runs;           // two directories
  std::string belay_a = {}, belay_b = {};  // the programs that replay them; empty: this one
  std::string output = {};                 // absolute, of the replays; empty: a folder that is removed
  bool json = false;
};
struct ReduceArguments {
  std::string run;          // the directory
  std::string output = {};  // absolute; empty: ./reduced-RUN
  double seconds = 300;     // of a trial
};
struct DoctorArguments {
  std::string directory = ".";  // whose disk is looked at
};
struct DescribeArguments {
  std::string what;
  bool json = false;
};

// `args`: what follows the command's name. Throws UsageError. Sets `help` where --help was given.
RunArguments parse_run(const std::vector<std::string>& args, bool& help);
// `belay evaluate` and `belay predict`: `belay run` with the settings that their options are short for.
RunArguments parse_mode(const std::string& mode, const std::vector<std::string>& args, bool& help);
ManifestArguments parse_check(const std::vector<std::string>& args, bool& help);
ShowArguments parse_show(const std::vector<std::string>& args, bool& help);
GraphArguments parse_graph(const std::vector<std::string>& args, bool& help);
PluginsArguments parse_plugins(const std::vector<std::string>& args, bool& help);
SchemaArguments parse_schema(const std::vector<std::string>& args, bool& help);
ValidateArguments parse_validate(const std::vector<std::string>& args, bool& help);
ExamplesArguments parse_examples(const std::vector<std::string>& args, bool& help);
MigrateArguments parse_migrate(const std::vector<std::string>& args, bool& help);
NewArguments parse_new(const std::vector<std::string>& args, bool& help);
CheckpointArguments parse_checkpoint(const std::vector<std::string>& args, bool& help);
EventsArguments parse_events(const std::vector<std::string>& args, bool& help);
ReportArguments parse_report(const std::vector<std::string>& args, bool& help);
CompareArguments parse_compare(const std::vector<std::string>& args, bool& help);
ReplayRequest parse_replay(const std::vector<std::string>& args, bool& help);
BisectArguments parse_bisect(const std::vector<std::string>& args, bool& help);
ReduceArguments parse_reduce(const std::vector<std::string>& args, bool& help);
DoctorArguments parse_doctor(const std::vector<std::string>& args, bool& help);
DescribeArguments parse_describe(const std::vector<std::string>& args, bool& help);

// "belay --help", and "belay COMMAND --help"; empty for an unknown command.
std::string help_text();
std::string help_text(std::string_view command);
std::vector<std::string> command_names();
// Behind the name of a command that there is not: the one that was meant, by its spelling or as other programs have it.
std::string meant_command(const std::string& name);

// The table that parsing and help come from, for the man page and the completion of shells.
struct CommandText {
  std::string name, arguments, what;
};
std::vector<CommandText> command_texts();
struct OptionText {
  std::string name;   // "--log-format"
  std::string value;  // "text|json"; empty: it takes none
  std::string what;
};
std::vector<OptionText> option_texts(std::string_view command);
std::vector<std::string> checkpoint_verbs();

}  // namespace belay::runtime
