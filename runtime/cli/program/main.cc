// SPDX-License-Identifier: Apache-2.0
// The host. `belay run` is its long part: run_command.cc prints while api/run_driver.cc drives the run:
//
//   manifest -> plugins -> scaffold -> session -> hooks
//
// Nothing is global: each stage takes the results of the previous one.
#include <cerrno>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/program/complete_command.h"
#include "runtime/cli/program/help_command.h"
#include "runtime/cli/program/man_page.h"
#include "runtime/cli/watch/end_report.h"
#include "runtime/cli/watch/standard_output.h"
#include "runtime/cli/watch/unexpected.h"
#include "runtime/ops/kernels/onednn_version.h"
#include "runtime/platform/process/build_id.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/platform/process/standard_descriptors.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/spinning.h"

namespace {

using namespace belay::runtime;

int version() {
  const std::string c_library = c_library_text();
  std::cout << version_line() << "\nown loops: " << isa_text() << ", oneDNN " << onednn_text() << ", OpenMP"
            << (c_library.empty() ? "" : ", ") << c_library << "\n";
  return kExitDone;
}

int dispatch(const std::string& name, const std::vector<std::string>& args) {
  const Command* command = find_command(name);
  if (command == nullptr)
    throw UsageError("[B5001] belay has no command '" + escaped(name) + "'" + meant_command(name) +
                     "; see belay --help");
  const Given given(*command, args);
  if (!given.has("help")) return command->run(given);
  std::cout << help_text(*command);
  return kExitDone;
}

// Whether the command runs kernels. The other commands need not start twice.
bool computes(const std::string& name) {
  const Command* command = find_command(name);
  return command != nullptr && command->computes;
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
    std::cerr << error_line(e.what()) << "\n";
    return kExitUsage;
  } catch (const belay::Error& e) {
    std::cerr << error_line(e.what()) << "\n";
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
