// SPDX-License-Identifier: Apache-2.0
// The host. Its one long story is `belay run`, which run_command.cc prints while api/run_driver.cc drives it:
//
//   manifest -> plugins -> scaffold -> session -> hooks
//
// Nothing is global: each stage takes what the one before made.
#include <sys/ioctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "runtime/cli/bisect_command.h"
#include "runtime/cli/checkpoint_command.h"
#include "runtime/cli/command_line.h"
#include "runtime/cli/complete_command.h"
#include "runtime/cli/describe_command.h"
#include "runtime/cli/doctor_command.h"
#include "runtime/cli/end_report.h"
#include "runtime/cli/events_command.h"
#include "runtime/cli/examples_command.h"
#include "runtime/cli/exit_status.h"
#include "runtime/cli/graph_command.h"
#include "runtime/cli/help_command.h"
#include "runtime/cli/man_page.h"
#include "runtime/cli/migrate_command.h"
#include "runtime/cli/new_command.h"
#include "runtime/cli/plugins_command.h"
#include "runtime/cli/reduce_command.h"
#include "runtime/cli/replay_command.h"
#include "runtime/cli/report_command.h"
#include "runtime/cli/run_command.h"
#include "runtime/cli/schema_command.h"
#include "runtime/cli/standard_output.h"
#include "runtime/cli/unexpected.h"
#include "runtime/cli/validate_command.h"
#include "runtime/ops/kernels/onednn_version.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/process/standard_descriptors.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/spinning.h"

namespace {

using namespace belay::runtime;

std::string version_line() {
  return "belay " BELAY_VERSION ", plugin ABI " + std::to_string(BELAY_ABI_MAJOR) + "." +
         std::to_string(BELAY_ABI_MINOR) + ", build " + build_id();
}

int version() {
  const std::string c_library = c_library_text();
  std::cout << version_line() << "\nown loops: " << isa_text() << ", oneDNN " << onednn_text() << ", OpenMP"
            << (c_library.empty() ? "" : ", ") << c_library << "\n";
  return kExitDone;
}

// What a manifest's path has, BELAY_PLUGIN_PATH, ~/.local/lib/belay, the installed directory.
PluginSearch search_behind(const std::vector<std::string>& manifest_path) {
  FilePolicy policy;
  return PluginSearch(plugin_search_path(manifest_path, process_environment()), policy, CpuFeatures());
}

// Without a manifest.
PluginSearch default_search() { return search_behind({}); }

// Of the terminal that stdout is; 0: it is none.
int terminal_columns() {
  winsize size{};
  return isatty(STDOUT_FILENO) == 1 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// Whether the terminal's locale is one of UTF-8, as the C library would find it.
bool speaks_utf8() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"})
    if (const auto value = process_environment()(name); value && !value->empty())
      return value->find("UTF-8") != value->npos || value->find("utf8") != value->npos;
  return false;
}

// Whether the command runs kernels: the others need not start twice.
bool computes(const std::string& command) {
  return command == "run" || command == "evaluate" || command == "predict" || command == "graph" ||
         command == "replay" || command == "validate";
}

int dispatch(const std::string& command, const std::vector<std::string>& args) {
  bool help = false;
  const auto unless_help = [&](auto parsed, auto run) {
    if (!help) return run(parsed);
    std::cout << help_text(command);
    return static_cast<int>(kExitDone);
  };
  if (command == "run") return unless_help(parse_run(args, help), run_command);
  if (command == "evaluate" || command == "predict" || command == "export")
    return unless_help(parse_mode(command, args, help), run_command);
  if (command == "check") return unless_help(parse_check(args, help), check_command);
  if (command == "show") return unless_help(parse_show(args, help), show_command);
  if (command == "graph") return unless_help(parse_graph(args, help), graph_command);
  if (command == "checkpoint")
    return unless_help(parse_checkpoint(args, help), [](const CheckpointArguments& a) {
      return checkpoint_command(a, posix_file_system(), default_search, std::cout, std::cerr);
    });
  if (command == "events")
    return unless_help(parse_events(args, help), [](const EventsArguments& a) {
      return events_command(a, posix_file_system(), std::cout, std::cerr);
    });
  if (command == "report")
    return unless_help(parse_report(args, help), [](const ReportArguments& a) {
      return report_command(a, posix_file_system(), system_clock(), speaks_utf8(), std::cout, std::cerr);
    });
  if (command == "compare")
    return unless_help(parse_compare(args, help), [](const CompareArguments& a) {
      return compare_command(a, posix_file_system(), std::cout, std::cerr);
    });
  if (command == "reduce") return unless_help(parse_reduce(args, help), reduce_command);
  if (command == "replay") return unless_help(parse_replay(args, help), replay_command);
  if (command == "bisect")
    return unless_help(parse_bisect(args, help), [](const BisectArguments& a) {
      return bisect_command(a, posix_file_system(), default_search, std::cout, std::cerr);
    });
  if (command == "plugins")
    return unless_help(parse_plugins(args, help), [](const PluginsArguments& a) {
      return plugins_command(default_search(), a.json, std::cout, terminal_columns());
    });
  if (command == "describe")
    return unless_help(parse_describe(args, help), [](const DescribeArguments& a) {
      return describe_command(a.what, default_search(), a.json, std::cout, std::cerr);
    });
  if (command == "validate")
    return unless_help(parse_validate(args, help), [](const ValidateArguments& a) {
      return validate_command(a.file, a.options, a.json, std::cout, std::cerr);
    });
  if (command == "new")
    return unless_help(parse_new(args, help), [](const NewArguments& a) {
      return new_command(a.kind, a.name, posix_file_system(), ".", std::cout);
    });
  if (command == "examples")
    return unless_help(parse_examples(args, help), [](const ExamplesArguments& a) {
      return examples_command(a.names, posix_file_system(), ".", std::cout);
    });
  if (command == "migrate")
    return unless_help(parse_migrate(args, help), [](const MigrateArguments& a) {
      return migrate_command(a, posix_file_system(), search_behind, std::cout, std::cerr);
    });
  if (command == "schema")
    return unless_help(parse_schema(args, help),
                       [](const SchemaArguments&) { return schema_command(default_search(), std::cout, std::cerr); });
  if (command == "doctor")
    return unless_help(parse_doctor(args, help), [](const DoctorArguments& a) {
      return doctor_command(a.directory, version_line(), default_search(), std::cout);
    });
  throw UsageError("belay has no command '" + escaped(command) + "'" + meant_command(command) + "; see belay --help");
}

int run_program(const std::vector<std::string>& args) {
  try {
    if (args.empty()) {
      std::cerr << help_text();
      return kExitUsage;
    }
    if (args[0] == "--help" || args[0] == "-h") return help_command({}, std::cout);
    if (args[0] == "help") return help_command({args.begin() + 1, args.end()}, std::cout);
    if (args[0] == "--version") return version();
    if (args[0] == "complete") return complete_command({args.begin() + 1, args.end()}, default_search, std::cout);
    if (args[0] == "man") {
      std::cout << man_page(BELAY_VERSION);
      return kExitDone;
    }
    return dispatch(args[0], {args.begin() + 1, args.end()});
  } catch (const UsageError& e) {
    std::cerr << e.what() << "\n";
    return kExitUsage;
  } catch (const belay::Error& e) {
    std::cerr << e.what() << "\n";
    return kExitTrainingFailed;
  } catch (const std::exception& e) {
    std::cerr << unexpected_text(e) << "\n";
    return kExitTrainingFailed;
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (!open_standard_descriptors()) {
    std::cerr << "a standard descriptor is closed, and /dev/null cannot be opened in its place: "
              << std::strerror(errno) << "\n";
    return kExitUsage;
  }
  if (argc > 1 && computes(argv[1])) bound_spinning(argv);
  own_process();
  StandardOutput out;
  const int status = run_program({argv + 1, argv + argc});
  const int error = out.finish();
  if (error == 0) return leave(status);
  std::cerr << "the output is not complete: cannot write to stdout: " << std::strerror(error) << "\n";
  return leave(status == kExitDone ? kExitTrainingFailed : status);
}
