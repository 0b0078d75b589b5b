// SPDX-License-Identifier: Apache-2.0
// `belay validate`: a plugin library against the whole contract, with the drivers that authors test with. In order: the
// file and how it was linked; loading; then each plugin: create, drive, state, faults, and where that is asked for
// random cases.
//
// Each check runs in a process of its own with a time limit, so a crash, a hang or an exit is a check that failed, and
// this process runs no plugin code.
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
  std::string text;  // why, if it did not pass; else a remark, or nothing
};

struct ValidateOptions {
  std::vector<std::string> sets = {};  // option=value, for every plugin of the library
  std::uint64_t seed = 42;
  double seconds = 30;      // that a check may take
  bool in_process = false;  // no children: for a debugger; the first crash ends everything
  // Behind the checks of each plugin, cases of fuzz.h for so long; the first that fails ends them.
  double fuzz_seconds = 0;
  // That case alone, and no checks.
  std::optional<std::uint64_t> fuzz_case = std::nullopt;
};

// Reports each result as it comes. `file` is absolute. Options that are wrong are an Error with a message of several
// lines.
void validate(const std::string& file, const ValidateOptions& options,
              const std::function<void(const CheckResult&)>& report);

}  // namespace belay::runtime
