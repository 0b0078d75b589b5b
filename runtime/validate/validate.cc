// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/validate.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "belay/detail/tables.h"
#include "belay/testing/temporary_folder.h"
#include "runtime/loader/library/loader.h"
#include "runtime/loader/library/registry.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/check.h"
#include "runtime/validate/child_process.h"
#include "runtime/validate/fuzz_run.h"
#include "runtime/validate/process_state.h"
#include "runtime/validate/synthetic.h"

namespace belay::runtime {
namespace {

const std::vector<Check>& checks_of(PluginKind kind) {
  const auto joined_with = [](std::vector<Check> all, const std::vector<Check>& more) {
    all.insert(all.end(), more.begin(), more.end());
    return all;
  };
  const auto with_create = [&](const std::vector<Check>& more) {
    return joined_with(joined_with(instance_checks(), option_checks()), more);
  };
  static const std::vector<Check> hook = with_create(hook_checks()), saver = with_create(saver_checks()),
                                  init_fn = with_create(init_fn_checks()), model = with_create(model_checks()),
                                  input = with_create(input_checks()), op = joined_with(instance_checks(), op_checks()),
                                  optimizer = with_create(optimizer_checks()),
                                  schedule = with_create(schedule_checks()), exporter = with_create(exporter_checks()),
                                  cluster = with_create(cluster_checks());
  switch (kind) {
    case PluginKind::kHook: return hook;
    case PluginKind::kSaver: return saver;
    case PluginKind::kInitFn: return init_fn;
    case PluginKind::kModel: return model;
    case PluginKind::kInput: return input;
    case PluginKind::kOp: return op;
    case PluginKind::kOptimizer: return optimizer;
    case PluginKind::kSchedule: return schedule;
    case PluginKind::kExporter: return exporter;
    case PluginKind::kCluster: return cluster;
  }
  std::abort();
}

// Encodes a verdict and its message for the parent.
std::string packed(Verdict verdict, const std::string& text) {
  return std::to_string(static_cast<int>(verdict)) + text;
}
bool has_passed(const std::string& report) { return report[0] == packed(Verdict::kPassed, "")[0]; }

std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 600;
  return escaped(text.size() > kMost ? text.substr(0, kMost) + "..." : text);
}

// Runs the work and returns its verdict, with the plugin's words.
std::string verdict_of(const std::function<void()>& work) {
  try {
    work();
    return packed(Verdict::kPassed, "");
  } catch (const CheckFailed& e) {
    return packed(Verdict::kFailed, e.what());
  } catch (const CheckSkipped& e) {
    return packed(Verdict::kSkipped, e.what());
  } catch (const CheckRemark& e) {
    return packed(Verdict::kPassed, e.what());
  } catch (const OptionsNeeded& e) {
    return packed(Verdict::kNeedsOptions, e.what());
  } catch (const LoadError& e) {
    return packed(Verdict::kFailed, e.what());
  } catch (const Error& e) {
    try {
      require_explained("a callback", e);
    } catch (const CheckFailed& unexplained) {
      return packed(Verdict::kFailed, unexplained.what());
    }
    return packed(Verdict::kFailed, text_of(e));
  } catch (const std::exception& e) {
    return packed(Verdict::kFailed,
                  "let an exception escape through the C boundary: " + std::string(detail::text_of(e)) +
                      "; build it on the SDK, whose callbacks turn exceptions into errors");
  } catch (...) {
    return packed(
        Verdict::kFailed,
        "let an exception escape through the C boundary; build it on the SDK, whose callbacks turn exceptions "
        "into errors");
  }
}

// Does the same, and checks that the process is unchanged.
std::string guarded(const std::function<void()>& work) {
  ProcessState before;
  std::string verdict = verdict_of(work);
  const std::vector<std::string> changes = before.changes();
  if (changes.empty() || !has_passed(verdict)) return verdict;
  return packed(Verdict::kFailed, "changed " + joined(changes) + "; a plugin leaves the process as it was");
}

// A plugin writes to paths in its options, and validation makes some of them up. They must never be in the user's
// folder.
class FolderOfItsOwn {
 public:
  FolderOfItsOwn() { std::filesystem::current_path(own_.path()); }
  FolderOfItsOwn(const FolderOfItsOwn&) = delete;
  FolderOfItsOwn& operator=(const FolderOfItsOwn&) = delete;
  ~FolderOfItsOwn() {
    std::error_code ignored;
    std::filesystem::current_path(before_, ignored);
  }

 private:
  const belay::testing::TemporaryFolder own_;
  const std::filesystem::path before_ = std::filesystem::current_path();
};

// The drivers' folders are then in the folder that validation removes, even if a plugin ends this process.
void make_folders_here() { ::setenv("TMPDIR", std::filesystem::current_path().c_str(), 1); }

void write_file(const std::string& path, const std::string& contents) {
  std::filesystem::create_directories(std::filesystem::path(path).parent_path());
  std::ofstream file(path, std::ios::binary);
  file << contents;
  if (!file.flush()) fail(Code::kResourceExhausted, "cannot write '" + path + "'");
}

class Validation {
 public:
  Validation(const std::string& file, const ValidateOptions& options,
             const std::function<void(const CheckResult&)>& report)
      : file_(file), options_(options), report_(report) {}

  void run() {
    if (!check("", "load.file", false, [this] { vet(); })) return;
    check("", "load.linked", false, [this] { check_linked(); });
    if (!check("", "load.opens", true, [this] { load(); })) return;
    for (const PluginInfo& plugin : library_.module.plugins) validate(plugin);
  }

 private:
  void vet() {
    library_ = vet_library(file_, policy_, cpu_);
    if (!library_.module.unusable.empty()) throw unusable_error(file_, library_.module.unusable.front());
  }
  // Returns true if the check passed. `code`: it runs the plugin's code.
  bool check(const std::string& plugin, const char* name, bool code, const std::function<void()>& work) {
    CheckResult result{plugin, name, Verdict::kPassed, {}};
    const std::string report = code ? report_of_code(work) : verdict_of(work);
    result.verdict = static_cast<Verdict>(report[0] - '0');
    constexpr std::size_t kMostText = 1000;  // a plugin's text may have a megabyte
    result.text = report.size() > kMostText ? report.substr(1, kMostText) + "..." : report.substr(1);
    report_(result);
    return result.verdict == Verdict::kPassed;
  }

  std::string report_of_code(const std::function<void()>& work) const {
    const FolderOfItsOwn folder;
    if (options_.in_process) return guarded(work);
    return judged(run_in_child(
        [&] {
          make_folders_here();
          return guarded(work);
        },
        options_.seconds));
  }
  // Does the same with less memory, for work that ends by itself after `seconds`.
  std::string report_of_cases(const std::function<void()>& work, double seconds) const {
    const FolderOfItsOwn folder;
    if (options_.in_process) return guarded(work);
    return judged(run_in_child(
        [&] {
          limit_memory();
          make_folders_here();
          return guarded(work);
        },
        seconds + options_.seconds));
  }

  static std::string judged(const ChildOutcome& child) {
    if (!child.ending.empty())
      return packed(Verdict::kFailed, child.ending + (child.errors.empty() ? "" : ": " + shortened(child.errors)));
    if (!child.output.empty() && has_passed(child.report))
      return packed(Verdict::kFailed, "wrote to standard output, which may carry data: \"" + shortened(child.output) +
                                          "\"; use host().info()");
    return child.report;
  }

  void check_linked() const {
    const OpenLibrary opened = open_library(file_);
    const ElfFile elf(*opened.bytes, file_);
    std::vector<std::string> flaws = link_flaws(elf);
    for (std::string& flaw : export_flaws(elf)) flaws.push_back(std::move(flaw));
    if (!flaws.empty()) throw CheckFailed(joined(flaws, "; "));
  }

  const belay_module& load() {
    if (loaded_ == nullptr) {
      const char* library_path = std::getenv("LD_LIBRARY_PATH");
      loader_ = std::make_unique<Loader>(policy_, cpu_, library_path == nullptr ? "" : library_path);
      loaded_ = &loader_->load(file_, library_.stamp);
      Registry().add_loaded(*loaded_);
      for (const std::string& warning : loaded_->warnings)
        if (warning.find("writable by") == std::string::npos && warning.find("owned by") == std::string::npos)
          throw CheckFailed(warning);
    }
    return *loaded_->module;
  }

  void validate(const PluginInfo& plugin) {
    const std::string label = std::string(kind_name(plugin.kind)) + " \"" + plugin.name + "\"";
    Diagnostics problems;
    const ChosenOptions chosen = choose_options(plugin, options_.sets, folder_.path(), problems);
    if (!problems.empty() && !options_.sets.empty()) fail(Code::kInvalidArgument, problems.text());
    if (!problems.empty())
      return report_({label, "create.options", Verdict::kFailed,
                      "it does not take the examples of its note:\n" + problems.text()});
    for (const auto& [path, contents] : chosen.files) write_file(path, contents);
    const auto subject = [&] { return Subject{load(), plugin, chosen, !options_.sets.empty(), options_.seed}; };
    if (options_.fuzz_case) return fuzz(label, subject);
    const std::vector<Check>& checks = checks_of(plugin.kind);
    for (const Check& c : checks) {
      const bool passed = check(label, c.name, true, [&] { c.run(subject()); });
      if (passed || &c != &checks.front()) continue;
      report_({label, "everything else", Verdict::kSkipped, "it could not be created"});
      return;
    }
    if (options_.fuzz_seconds > 0) fuzz(label, subject);
  }

  // Runs slices, each in a separate process.
  void fuzz(const std::string& label, const std::function<Subject()>& subject) {
    using Clock = std::chrono::steady_clock;
    constexpr double kSlice = 2;
    const auto start = Clock::now();
    FuzzLog log;
    std::uint64_t next = options_.fuzz_case.value_or(0);
    for (double left = options_.fuzz_seconds;;) {
      const double slice = options_.fuzz_case ? 0 : std::min(left, kSlice);
      log.begin_case(next);
      const std::string report = report_of_cases([&] { run_fuzz_cases(subject(), log, next, slice); }, slice);
      if (!has_passed(report)) return report_({label, "fuzz.cases", Verdict::kFailed, finding(log, report.substr(1))});
      next = log.number() + 1;
      left = options_.fuzz_seconds - std::chrono::duration<double>(Clock::now() - start).count();
      if (options_.fuzz_case || left <= 0) break;
    }
    const std::string cases = options_.fuzz_case ? fmt::format("case {}", *options_.fuzz_case)
                                                 : std::to_string(next) + (next == 1 ? " case" : " cases");
    report_({label, "fuzz.cases", Verdict::kPassed, fmt::format("{} of seed {}", cases, options_.seed)});
  }

  std::string finding(const FuzzLog& log, const std::string& why) const {
    constexpr std::size_t kMostText = 1000;
    const std::string number = std::to_string(log.number());
    return fmt::format("case {}: {}\nwhat it did: {}\nthat case alone: belay validate {} --fuzz-case {} --seed {}",
                       number, why.substr(0, kMostText), log.notes(), file_, number, options_.seed);
  }

  const std::string& file_;
  const ValidateOptions& options_;
  const std::function<void(const CheckResult&)>& report_;
  const belay::testing::TemporaryFolder folder_;
  FilePolicy policy_;
  const CpuFeatures cpu_;
  LibraryFile library_;
  std::unique_ptr<Loader> loader_;
  const LoadedLibrary* loaded_ = nullptr;
};

}  // namespace

const char* verdict_name(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::kPassed: return "passed";
    case Verdict::kFailed: return "failed";
    case Verdict::kSkipped: return "skipped";
    case Verdict::kNeedsOptions: return "needs options";
  }
  return "";
}

void validate(const std::string& file, const ValidateOptions& options,
              const std::function<void(const CheckResult&)>& report) {
  Validation(file, options, report).run();
}

}  // namespace belay::runtime
