// SPDX-License-Identifier: Apache-2.0
// The command line: which command, its options and arguments.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "belay/error.h"
#include "runtime/estimator/resume_check.h"
#include "runtime/platform/logger.h"
#include "runtime/validate/validate.h"

namespace belay::runtime {

// What the user typed is wrong; the message says what, and which options there are. Exit status 2.
class UsageError : public Error {
 public:
  explicit UsageError(const std::string& text) : Error(Code::kInvalidArgument, text) {}
};

struct RunArguments {
  std::string manifest;
  std::string exported = {};  // the folder of an export that the manifest is of; empty: of none
  std::vector<std::string> sets;
  bool dry_run = false;
  bool from_scratch = false;
  ResumeOptions resume = {};
  LogFormat log_format = LogFormat::kText;
};
struct ManifestArguments {  // check, show
  std::string manifest;
  std::vector<std::string> sets;
};
struct GraphArguments {
  std::string manifest;
  std::vector<std::string> sets;
  bool plan = false;
  bool json = false;
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
struct DescribeArguments {
  std::string what;
  bool json = false;
};

// `args`: what follows the command's name. Throws UsageError. Sets `help` where --help was given.
RunArguments parse_run(const std::vector<std::string>& args, bool& help);
// `belay evaluate` and `belay predict`: `belay run` with the settings that their options are short for.
RunArguments parse_mode(const std::string& mode, const std::vector<std::string>& args, bool& help);
ManifestArguments parse_manifest_command(const std::string& command, const std::vector<std::string>& args, bool& help);
GraphArguments parse_graph(const std::vector<std::string>& args, bool& help);
PluginsArguments parse_plugins(const std::vector<std::string>& args, bool& help);
SchemaArguments parse_schema(const std::vector<std::string>& args, bool& help);
ValidateArguments parse_validate(const std::vector<std::string>& args, bool& help);
NewArguments parse_new(const std::vector<std::string>& args, bool& help);
CheckpointArguments parse_checkpoint(const std::vector<std::string>& args, bool& help);
EventsArguments parse_events(const std::vector<std::string>& args, bool& help);
DescribeArguments parse_describe(const std::vector<std::string>& args, bool& help);

// "belay --help", and "belay COMMAND --help"; empty for an unknown command.
std::string help_text();
std::string help_text(std::string_view command);
std::vector<std::string> command_names();

}  // namespace belay::runtime
