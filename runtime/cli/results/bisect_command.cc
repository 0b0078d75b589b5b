// SPDX-License-Identifier: Apache-2.0
// `belay bisect A B` finds where two runs part. First it compares their directories. Then it replays both from the last
// step at which they are equal, each in a separate process. At the end it compares the first step that differs, tensor
// by tensor.
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <filesystem>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <utility>

#include "runtime/api/log.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/results/bisect_report.h"
#include "runtime/cli/results/loaded_savers.h"
#include "runtime/cli/watch/signals.h"
#include "runtime/cli/watch/temporary_folder.h"
#include "runtime/estimator/replay/replay_plan.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/process/child_program.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

namespace fs = std::filesystem;

constexpr const char* kDigests = "metrics.jsonl";  // the hook state_digest writes it

struct BisectArguments {
  std::vector<std::string> runs;           // two directories
  std::string belay_a = {}, belay_b = {};  // the programs of the replays; empty: this one
  std::string output = {};                 // absolute, for the replays; empty: a folder that is removed
  bool json = false;
};

BisectArguments bisect_arguments(const Given& given) {
  BisectArguments out;
  out.runs = given.runs(2);
  if (out.runs.size() != 2)
    throw UsageError(fmt::format("[B5003] belay bisect: two runs are compared, these are {}", out.runs.size()));
  // Returns the absolute path of a program. A plain name stays as it is, and PATH finds it later.
  const auto program = [&](const char* option) {
    const std::string text = given.text(option);
    return text.find('/') == text.npos ? text : absolute_path(text);
  };
  out.belay_a = program("belay-a");
  out.belay_b = program("belay-b");
  out.output = given.path("out");
  out.json = given.has("json");
  return out;
}

// Makes the user's folder, which stays. It must be new, or empty.
std::string made_folder(const std::string& path) {
  if (fs::exists(path) && !(fs::is_directory(path) && fs::is_empty(path)))
    throw UsageError("[B5007] belay bisect: " + single_quoted(path) +
                     " is there and holds something; name another directory by --out, or remove it");
  fs::create_directories(path);
  return path;
}

class Bisect {
 public:
  // `signal`: 0, or the signal that must end it.
  Bisect(const BisectArguments& arguments, FileSystem& files, const std::function<PluginSearch()>& search, Logger& log,
         const std::atomic<int>& signal)
      : arguments_(arguments), files_(files), savers_(search, log), log_(log), signal_(signal) {
    report_.a = arguments.runs[0];
    report_.b = arguments.runs[1];
  }

  const BisectReport& report() const { return report_; }
  void look();
  bool differ() const { return report_.step || report_.runs.first_different; }

 private:
  using Both = std::array<std::string, 2>;

  void compare_variables(std::int64_t step);
  void replay_between(std::int64_t from, std::int64_t to, const std::string& folder);
  Both replay(const std::vector<std::string>& arguments, const std::string& file, const std::string& folder);
  std::optional<std::int64_t> first_other_digest(const Both& replays) const;
  void compare_step(std::int64_t step, const Both& replays);
  StoredPlace checkpoint_of(const std::string& run, std::int64_t step);

  const BisectArguments& arguments_;
  FileSystem& files_;
  LoadedSavers savers_;
  Logger& log_;
  const std::atomic<int>& signal_;
  BisectReport report_;
};

void Bisect::look() {
  report_.runs = difference_of_runs(files_, report_.a, report_.b, log_);
  const RunComparison& d = report_.runs;
  if (!d.last_equal) {
    if (d.first_different) compare_variables(*d.first_different);
    return;
  }
  const std::int64_t to = d.first_different.value_or(std::min(d.last_step_a, d.last_step_b));
  if (to <= *d.last_equal) return;
  if (!arguments_.output.empty()) return replay_between(*d.last_equal, to, made_folder(arguments_.output));
  const TemporaryFolder folder("bisect");
  replay_between(*d.last_equal, to, folder.path());
}

StoredPlace Bisect::checkpoint_of(const std::string& run, std::int64_t step) {
  const std::map<std::int64_t, std::string> checkpoints = checkpoints_of(*files_.open_directory(run));
  const auto name = checkpoints.find(step);
  if (name == checkpoints.end()) return {};
  return find_stored(files_, run + "/" + name->second, log_);
}

// There is nothing to report if one of them has left only a digest.
void Bisect::compare_variables(std::int64_t step) {
  const StoredPlace a = checkpoint_of(report_.a, step), b = checkpoint_of(report_.b, step);
  if (a.checkpoint == nullptr || b.checkpoint == nullptr) return;
  compare_stored(
      {*a.checkpoint, savers_.use(a.saver)}, {*b.checkpoint, savers_.use(b.saver)},
      [](const std::string&) { return true; }, [&](const StoredDifference& d) { report_.variables.push_back(d); });
}

void Bisect::replay_between(std::int64_t from, std::int64_t to, const std::string& folder) {
  report_.replayed_from = from + 1;
  report_.replayed_to = to;
  const Both digests = replay(
      {"--step", std::to_string(from + 1), "--to", std::to_string(to), "--hook", "state_digest{every_n_steps = 1}"},
      kDigests, folder);
  const std::optional<std::int64_t> step = first_other_digest(digests);
  if (!step) return;
  const Both tensors =
      replay({"--step", std::to_string(*step), "--all-tensors"}, step_file_name(*step, "json"), folder);
  compare_step(*step, tensors);
  report_.step = step;
}

// Returns the directories of the replays, each with that file. It notes a replay with other bits than its run. A replay
// without the file is an error.
Bisect::Both Bisect::replay(const std::vector<std::string>& arguments, const std::string& file,
                            const std::string& folder) {
  const std::array<std::string, 2> sides{"a", "b"};
  const std::array<std::string, 2> programs{arguments_.belay_a, arguments_.belay_b};
  std::vector<ChildProgram> commands;
  Both directories;
  for (std::size_t i = 0; i < sides.size(); ++i) {
    directories[i] = folder + "/" + sides[i] + "-" + fs::path(file).stem().string();
    ChildProgram command{programs[i].empty() ? this_program() : programs[i],
                         {"replay", arguments_.runs[i], "--out", directories[i]},
                         directories[i] + ".log"};
    command.arguments.insert(command.arguments.end(), arguments.begin(), arguments.end());
    commands.push_back(std::move(command));
  }
  const std::vector<ProgramEnd> ends = run_programs(commands, kNoTimeLimit, &signal_);
  if (signal_ != 0) fail(Code::kCancelled, "stopped by " + signal_name(signal_));
  for (std::size_t i = 0; i < sides.size(); ++i) {
    const int status = ends[i].status;
    const bool made = status == kExitDone || (status == kExitTrainingFailed && fs::exists(directories[i] + "/" + file));
    if (!made) {
      constexpr std::uint64_t kMostLog = std::uint64_t{1} << 20;
      const PathParts log = path_parts(commands[i].log);
      fail(Code::kFailedPrecondition,
           fmt::format("[B5015] the replay of {} ({}) ended with status {} and printed:\n{}", sides[i],
                       commands[i].program, status, files_.open_directory(log.parent)->read(log.name, kMostLog)));
    }
    if (status != kExitDone &&
        std::find(report_.unproved.begin(), report_.unproved.end(), sides[i]) == report_.unproved.end())
      report_.unproved.push_back(sides[i]);
  }
  return directories;
}

std::optional<std::int64_t> Bisect::first_other_digest(const Both& replays) const {
  constexpr std::uint64_t kMostLines = std::uint64_t{1} << 31;
  std::array<std::map<std::int64_t, std::string>, 2> digests;
  for (std::size_t i = 0; i < digests.size(); ++i)
    for (const StepDigest& d : read_history(files_.open_directory(replays[i])->read(kDigests, kMostLines)).digests)
      digests[i][d.step] = d.digest;
  for (const auto& [step, digest] : digests[0])
    if (const auto other = digests[1].find(step); other != digests[1].end() && other->second != digest) return step;
  return std::nullopt;
}

void Bisect::compare_step(std::int64_t step, const Both& replays) {
  constexpr std::uint64_t kMostList = std::uint64_t{256} << 20;
  std::array<std::unique_ptr<StoredTensors>, 2> tensors;
  std::array<std::vector<ListedTensor>, 2> lists;
  const SaverUse& npz = savers_.use("npz");
  for (std::size_t i = 0; i < replays.size(); ++i) {
    lists[i] = parse_step_list(files_.open_directory(replays[i])->read(step_file_name(step, "json"), kMostList));
    tensors[i] = open_stored_tensors(files_, replays[i] + "/" + step_file_name(step, "npz"), npz, log_);
  }
  report_.tensors = difference_of_steps({lists[0], *tensors[0], npz}, {lists[1], *tensors[1], npz});
}

// Returns kExitDone if no common part differs, kExitTrainingFailed if one does.
int bisect_command(const BisectArguments& arguments, FileSystem& files, const std::function<PluginSearch()>& search,
                   std::ostream& out, std::ostream& err) {
  Signals::block();
  const std::unique_ptr<Logger> log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock());
  // The signal ends the replays, before their folder is removed.
  std::atomic<int> signal{0};
  SignalRequests requests;
  requests.stop = [&signal](int s, bool) { signal = s; };
  requests.wake = [](int s) { Signals::die_of(s); };
  const Signals signals(std::move(requests));
  try {
    Bisect bisect(arguments, files, search, *log, signal);
    bisect.look();
    log->flush();
    out << (arguments.json ? json_of(bisect.report()) : text_of(bisect.report())) << std::flush;
    return bisect.differ() ? kExitTrainingFailed : kExitDone;
  } catch (const UsageError&) {
    throw;
  } catch (const Error& e) {
    log->flush();
    if (signal != 0) Signals::die_of(signal);
    err << "belay bisect: " << e.message() << std::endl;
    return e.code() == Code::kNotFound ? kExitUsage : kExitTrainingFailed;
  }
}

}  // namespace

Command declare_bisect() {
  return {.name = "bisect",
          .arguments = "A B",
          .what = "finds the first step and tensor in which two runs differ",
          .options =
              {
                  {"belay-a", "program that replays A (this program)", Takes::kText, "P"},
                  {"belay-b", "program that replays B (this program)", Takes::kText, "P"},
                  {"out", "folder that keeps the replays; without it they are removed", Takes::kText, "DIR"},
                  {"json", "as JSON"},
              },
          .run = [](const Given& given) {
            return bisect_command(bisect_arguments(given), posix_file_system(), default_search, std::cout, std::cerr);
          }};
}

}  // namespace belay::runtime
