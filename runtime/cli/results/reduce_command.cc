// SPDX-License-Identifier: Apache-2.0
// `belay reduce` starts with a run that ended with an error. It makes the smallest manifest and data that end with the
// same error, as a folder to send to somebody else. The run's directory is only read.
#include <fmt/core.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/results/loaded_savers.h"
#include "runtime/cli/watch/signals.h"
#include "runtime/cli/watch/temporary_folder.h"
#include "runtime/cli/watch/watched_run.h"
#include "runtime/estimator/replay/replay_manifest.h"
#include "runtime/estimator/resume/data_files.h"
#include "runtime/loader/file/search.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/manifest/toml_document.h"
#include "runtime/platform/process/child_program.h"
#include "runtime/platform/text/text.h"
#include "runtime/reduce/case_folder.h"
#include "runtime/reduce/reduction.h"
#include "runtime/reduce/trial.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

// It tries so many steps before the failing one. More than one is needed only if the failure needs a state of earlier
// steps.
constexpr std::int64_t kSteps = 3;

// Returns the step in the message; -1: it names none.
std::int64_t step_in(const std::string& message) {
  const std::string words = "at step ";
  const std::size_t at = message.rfind(words);
  if (at == std::string::npos || at + words.size() >= message.size()) return -1;
  char* end = nullptr;
  const char* digits = message.c_str() + at + words.size();
  const long long step = std::strtoll(digits, &end, 10);
  return end == digits ? -1 : step;
}

std::string end_text(const TrialEnd& end) {
  return fmt::format("status {}{}", end.status, end.message.empty() ? "" : ": " + end.message);
}

struct ReduceArguments {
  std::string run;          // the directory
  std::string output = {};  // absolute; empty: ./reduced-RUN
  double seconds = 300;     // of a trial
};

ReduceArguments reduce_arguments(const Given& given) {
  ReduceArguments out;
  out.run = given.argument("run's directory");
  out.output = given.path("out");
  out.seconds = given.number("timeout");
  if (!(out.seconds > 0)) throw UsageError("[B5004] belay reduce: --timeout must be above 0");
  return out;
}

class ReduceCommand {
 public:
  ReduceCommand(const ReduceArguments& arguments, Logger& log, FileSystem& files)
      : arguments_(arguments), log_(log), files_(files), belay_(this_program()) {}

  int run();

 private:
  std::string output() const;
  void check_output(const std::string& directory) const;
  int read_run();
  int fail_again();
  int make_smallest(const std::string& directory);
  TrialEnd run_whole(const std::string& folder, const std::vector<std::string>& sets) const;
  void make_start();
  int prepare(WatchedRun& prepared);
  void capture(const WatchedRun& prepared);
  bool fails(const FailingCase& candidate);
  TrialEnd try_case();
  FailingCase whole_case() const;
  std::optional<FailingCase> failing_case(const WatchedRun& prepared);
  void deliver(const FailingCase& smallest, const std::string& directory) const;

  const ReduceArguments& arguments_;
  Logger& log_;
  FileSystem& files_;
  const std::string belay_;
  const TemporaryFolder scratch_{"reduce"};
  RunControl control_;
  std::atomic<int> signal_{0};
  // The run's manifest, as TOML. Hooks that only watch are left out of the trials, unless the failure needs one: they
  // write files anywhere.
  std::string manifest_, all_hooks_;
  std::string checkpoint_;  // the newest whole one
  std::int64_t from_ = 0;   // its step, or the step of make_start()'s checkpoint
  TrialEnd wanted_;
  std::int64_t failing_step_ = -1;
  CapturedBatches captured_;
  bool resumes_ = false;  // a case continues from the checkpoint, with the unchanged input
  FilePolicy policy_;
  std::optional<LoadedSavers> savers_;
  std::optional<CaseFolder> folder_;
  std::map<std::string, bool> known_;
  std::size_t trials_ = 0;
};

std::string ReduceCommand::output() const {
  if (!arguments_.output.empty()) return arguments_.output;
  const std::string name = path_parts(fs::absolute(arguments_.run).lexically_normal().string()).name;
  return fs::absolute("reduced-" + name).string();
}

void ReduceCommand::check_output(const std::string& directory) const {
  std::error_code error;
  if (fs::exists(directory, error))
    throw UsageError("[B5007] belay reduce: " + single_quoted(directory) +
                     " is there; name another folder by --out DIR2, or remove it");
}

// Runs the unchanged run again, from its newest checkpoint, in a new directory.
TrialEnd ReduceCommand::run_whole(const std::string& folder, const std::vector<std::string>& sets) const {
  fs::create_directories(folder + "/run");
  fs::copy(checkpoint_, folder + "/run/" + path_parts(checkpoint_).name, fs::copy_options::recursive);
  std::ofstream(folder + "/manifest.toml") << manifest_;
  std::vector<std::string> more{"--set", "run.dir=" + folder + "/run", "--resume=changed"};
  for (const std::string& set : sets) more.insert(more.end(), {"--set", set});
  TrialEnd end = run_trial(belay_, folder + "/manifest.toml", more, kNoTimeLimit, &signal_);
  if (signal_ != 0) fail(Code::kCancelled, "stopped by " + signal_name(signal_));
  return end;
}

// Makes the checkpoint kSteps before the failing step, or takes the run's if there is none.
void ReduceCommand::make_start() {
  const std::int64_t wanted = failing_step_ - kSteps;
  const std::string folder = scratch_ / "start";
  if (wanted <= from_) return;
  const TrialEnd end = run_whole(folder, {"run.min_steps=0", fmt::format("run.max_steps={}", wanted)});
  const std::unique_ptr<CheckpointReader> made =
      end.status == kExitDone ? find_stored(files_, folder + "/run", log_).checkpoint : nullptr;
  if (made == nullptr || made->state().global_step != wanted) {
    log_.warning("", fmt::format("no checkpoint could be made at step {} ({}); every step after {} is looked at",
                                 wanted, end_text(end), from_));
    return;
  }
  checkpoint_ = made->path();
  from_ = wanted;
}

int ReduceCommand::prepare(WatchedRun& prepared) {
  std::optional<Manifest> manifest =
      parse_manifest({scratch_ / "whole/manifest.toml", manifest_}, {"run.dir=" + (scratch_ / "whole/run")},
                     process_environment(), prepared.problems);
  const int status = prepared.find(std::move(manifest));
  return status == kExitDone ? prepared.prepare(Preparation::kGraph) : status;
}

void ReduceCommand::capture(const WatchedRun& prepared) {
  const RunInput* train = prepared.run->input("train");
  if (train == nullptr || train->feed == nullptr || failing_step_ <= from_) return;
  if (!can_capture(train->feed->components())) {
    log_.info("",
              "the input's columns are more than one feature and one label of numbers, so the data stays where it is");
    return;
  }
  const std::int64_t accumulate = prepared.run->manifest.optimizer.accumulate;
  const StoredPlace start = find_stored(files_, checkpoint_, log_);
  const auto& positions = start.checkpoint->state().input_positions;
  const auto position = positions.find("train");
  captured_.components = train->feed->components();
  captured_.batches = train->feed->batches_behind(position == positions.end() ? Position() : position->second,
                                                  static_cast<std::size_t>((failing_step_ - from_) * accumulate));
  if (captured_.rows() == 0) captured_ = CapturedBatches();
}

TrialEnd ReduceCommand::try_case() {
  const std::string run = folder_->path() + "/run";
  std::error_code ignored;
  fs::remove_all(run, ignored);
  std::vector<std::string> more;
  if (resumes_) {
    fs::create_directories(run);
    fs::copy(folder_->path() + "/start", run + "/" + path_parts(checkpoint_).name, fs::copy_options::recursive);
    more.emplace_back("--resume=changed");
  }
  ++trials_;
  TrialEnd end = run_trial(belay_, folder_->path() + "/manifest.toml", more, arguments_.seconds, &signal_);
  if (signal_ != 0) fail(Code::kCancelled, "stopped by " + signal_name(signal_));
  return end;
}

bool ReduceCommand::fails(const FailingCase& candidate) {
  std::string key = toml_document(written_manifest(candidate, captured_));
  for (const std::size_t b : candidate.batches) key += fmt::format("b{}", b);
  for (const std::size_t r : candidate.rows) key += fmt::format("r{}", r);
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  folder_->write(candidate);
  return known_[key] = try_case().is_like(wanted_);
}

FailingCase ReduceCommand::whole_case() const {
  Diagnostics problems;
  std::optional<TomlNode> document = parse_toml({"manifest.toml", manifest_}, problems);
  FailingCase whole{.manifest = std::get<TomlTable>(std::move(document->value))};
  for (std::size_t b = 0; b < captured_.batches.size(); ++b) whole.batches.push_back(b);
  for (std::size_t r = 0; r < captured_.rows(); ++r) whole.rows.push_back(r);
  whole.warm_start = !captured_.batches.empty();
  return whole;
}

// Returns a case with the batches as data if it fails in the same way, else a run that continues. None: neither fails.
std::optional<FailingCase> ReduceCommand::failing_case(const WatchedRun& prepared) {
  savers_.emplace(
      [&] {
        return PluginSearch(plugin_search_path(prepared.run->manifest.plugins.path, process_environment()), policy_,
                            CpuFeatures());
      },
      log_);
  const std::string path = scratch_ / "case";
  fs::create_directories(path);
  fs::copy(checkpoint_, path + "/start", fs::copy_options::recursive);
  folder_.emplace(path, captured_, CaseFolder::Services{files_, system_clock(), log_, savers_->use("npz")});
  if (!captured_.batches.empty()) {
    FailingCase whole = whole_case();
    if (fails(whole)) return whole;
    log_.info("", "the batches alone do not make it fail so; the input stays as it was");
    captured_ = CapturedBatches();
  }
  resumes_ = true;
  FailingCase whole = whole_case();
  if (fails(whole)) return whole;
  return std::nullopt;
}

void ReduceCommand::deliver(const FailingCase& smallest, const std::string& directory) const {
  const std::string made = directory + ".tmp";
  std::error_code ignored;
  fs::remove_all(made, ignored);
  fs::create_directories(made);
  const std::string from = folder_->path();
  fs::copy(from + "/manifest.toml", made + "/manifest.toml");
  if (!captured_.batches.empty()) fs::copy(from + "/data.npz", made + "/data.npz");
  if (smallest.warm_start) fs::copy(from + "/start", made + "/start", fs::copy_options::recursive);
  if (resumes_) {
    fs::create_directories(made + "/run");
    fs::copy(from + "/start", made + "/run/" + path_parts(checkpoint_).name, fs::copy_options::recursive);
  }
  std::ofstream readme(made + "/README.txt");
  readme << "A training that fails, made small from " << escaped(arguments_.run) << ". In this folder\n\n"
         << "    belay run manifest.toml" << (resumes_ ? " --resume=changed" : "") << "\n\nends with "
         << end_text(wanted_) << "\n(steps, places and sizes may be other numbers here). Made by belay " BELAY_VERSION
         << "; plugins that are not belay's have to be in BELAY_PLUGIN_PATH.\n";
  readme.close();
  fs::rename(made, directory);
}

// Finds the newest checkpoint of the run and its manifest. Returns an exit status.
int ReduceCommand::read_run() {
  try {
    const std::unique_ptr<CheckpointReader> newest = find_stored(files_, arguments_.run, log_).checkpoint;
    if (newest == nullptr)
      fail(Code::kNotFound, fmt::format("[B5010] {} is no run directory with a checkpoint", escaped(arguments_.run)));
    checkpoint_ = fs::absolute(newest->path()).string();
    from_ = newest->state().global_step;
    Diagnostics problems;
    const std::optional<ManifestSource> source = read_manifest(arguments_.run + "/manifest.toml", problems);
    std::optional<Manifest> manifest;
    if (source) manifest = parse_manifest(*source, data_file_sets(source->text), process_environment(), problems);
    if (!manifest || !problems.empty()) {
      print(problems, ManifestArguments());
      return kExitUsage;
    }
    manifest->inputs.erase("predict");  // which a training only looks at
    manifest_ = all_hooks_ = effective_manifest(*manifest);
    const PluginSearch search(plugin_search_path(manifest->plugins.path, process_environment()), policy_,
                              CpuFeatures());
    std::erase_if(manifest->hooks, [&](const PluginUse& hook) { return is_watching(hook, search); });
    manifest_ = effective_manifest(*manifest);
    return kExitDone;
  } catch (const RestoreError& e) {
    log_error(log_, e.what());
    return kExitNoRestore;
  } catch (const Error& e) {
    log_error(log_, std::string(e.what()) + ": belay reduce wants the directory of a run that ended with an error");
    return kExitUsage;
  }
}

// Runs it again, to see the error that a case must have. Returns an exit status.
int ReduceCommand::fail_again() {
  log_.info("", fmt::format("runs {} once more, from step {} on", escaped(arguments_.run), from_));
  wanted_ = run_whole(scratch_ / "whole", {});
  if (wanted_.status == kExitDone && manifest_ != all_hooks_) {
    log_.info("", "it does not fail without its hooks that only watch; once more with them");
    manifest_ = all_hooks_;
    wanted_ = run_whole(scratch_ / "with_hooks", {});
  }
  if (wanted_.status == kExitDone) {
    log_error(
        log_,
        fmt::format("[B5018] {} does not fail any more: it came to its end from step {}; there is nothing to reduce",
                    escaped(arguments_.run), from_));
    return kExitTrainingFailed;
  }
  failing_step_ = step_in(wanted_.message);
  log_.info("", "it ends with " + end_text(wanted_));
  return kExitDone;
}

// Writes the smallest case into `directory` and prints its contents. Returns an exit status.
int ReduceCommand::make_smallest(const std::string& directory) {
  make_start();
  WatchedRun prepared(make_platform(log_), control_);
  if (const int status = prepare(prepared); status != kExitDone) return status;
  capture(prepared);
  std::optional<FailingCase> whole = failing_case(prepared);
  if (!whole) {
    log_error(log_,
              "[B5018] the run fails, but not when it continues from its checkpoint in another folder: nothing can be "
              "left out");
    return kExitTrainingFailed;
  }
  const FailingCase smallest =
      reduced(std::move(*whole), {.fails = [this](const FailingCase& candidate) { return fails(candidate); },
                                  .say = [this](const std::string& what) { log_.info("", what); }});
  folder_->write(smallest);
  const TrialEnd end = try_case();
  if (!end.is_like(wanted_))
    log_.warning("", "the smallest case failed once, and not when it was run again: it ends with " + end_text(end));
  deliver(smallest, directory);
  log_.flush();
  std::cout << escaped(directory) << ": ends with " << end_text(end) << "\n  " << trials_ << " trials";
  if (!captured_.batches.empty())
    std::cout << "; " << smallest.batches.size() << (smallest.batches.size() == 1 ? " batch of " : " batches of ")
              << smallest.rows.size() << (smallest.rows.size() == 1 ? " example" : " examples");
  std::cout << "\n  belay run " << escaped(directory) << "/manifest.toml" << (resumes_ ? " --resume=changed" : "")
            << std::endl;
  return kExitDone;
}

int ReduceCommand::run() {
  const std::string out = output();
  check_output(out);
  if (const int status = read_run(); status != kExitDone) return status;

  SignalRequests requests;
  requests.stop = [this](int signal, bool) { signal_ = signal; };
  requests.wake = [](int) {};
  requests.save = [] {};
  requests.stacks = [] {};
  requests.give_up = [](int, std::optional<double>) {};
  Signals signals(requests);
  try {
    const int status = fail_again();
    return status == kExitDone ? make_smallest(out) : status;
  } catch (const Error& e) {
    if (e.code() != Code::kCancelled || signal_ == 0) throw;
    log_.flush();
  }
  Signals::die_of(signal_);
}

// Returns an exit status: kExitTrainingFailed if the run does not fail again.
int reduce_command(const ReduceArguments& arguments) {
  Signals::block();
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  try {
    return ReduceCommand(arguments, *log, posix_file_system()).run();
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    log_error(*log, std::string("belay reduce: ") + e.what());
    return kExitTrainingFailed;
  } catch (const fs::filesystem_error& e) {
    log_error(*log, std::string("belay reduce: ") + e.what());
    return kExitTrainingFailed;
  }
}

}  // namespace

Command declare_reduce() {
  return {.name = "reduce",
          .arguments = "DIR",
          .what = "makes the smallest manifest and data that fail with the same error as a run",
          .options =
              {
                  {"out", "folder to make (./reduced-RUN)", Takes::kText, "DIR2"},
                  {"timeout", "time limit of one trial", Takes::kNumber, "SECONDS", "300"},
              },
          .run = [](const Given& given) { return reduce_command(reduce_arguments(given)); }};
}

}  // namespace belay::runtime
