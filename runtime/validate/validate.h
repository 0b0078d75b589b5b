// SPDX-License-Identifier: Apache-2.0
// `belay validate` checks a plugin library against the whole contract, with the drivers that authors use in tests. It
// checks the file and its linking, then loading. Then come create, drive, state and faults for each plugin, and random
// cases if they are wanted.
//
// Each check runs in a separate process with a time limit. So a crash, a hang or an exit is a failed check, and this
// process runs no plugin code.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace belay::runtime {

// kNeedsOptions: the plugin is not to blame, but was not tried.
enum class Verdict { kPassed, kFailed, kSkipped, kNeedsOptions };
const char* verdict_name(Verdict verdict) noexcept;  // "passed" ...

struct CheckResult {
  std::string plugin;  // `hook "x"`; empty: of the library
  std::string check;   // "drive.life"
  Verdict verdict = Verdict::kPassed;
  std::string text;  // the reason if it did not pass; else a remark, or nothing
};

struct ValidateOptions {
  std::vector<std::string> sets = {};  // option=value, for every plugin of the library
  std::uint64_t seed = 42;
  double seconds = 30;      // limit of a check
  bool in_process = false;  // no children: for a debugger; the first crash ends everything
  // Runs cases of fuzz.h for this time after the checks of each plugin. The first failure ends them.
  double fuzz_seconds = 0;
  // Runs only that case, and no checks.
  std::optional<std::uint64_t> fuzz_case = std::nullopt;
};

// Reports each result as it comes. `file` is absolute. Wrong options are an Error with a message of several lines.
void validate(const std::string& file, const ValidateOptions& options,
              const std::function<void(const CheckResult&)>& report);

}  // namespace belay::runtime
