// SPDX-License-Identifier: Apache-2.0
// `belay checkpoint ls|show|verify|diff|convert|rm|pin PATH`.
#include <fmt/core.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <iostream>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/directory/remove_checkpoint.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/restore_error.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/checkpoint/read/stored_place.h"
#include "runtime/checkpoint/stored/convert_stored.h"
#include "runtime/checkpoint/stored/list_stored.h"
#include "runtime/checkpoint/write/pinned.h"
#include "runtime/cli/arguments/command_line.h"
#include "runtime/cli/arguments/default_search.h"
#include "runtime/cli/arguments/exit_status.h"
#include "runtime/cli/arguments/name_pattern.h"
#include "runtime/cli/results/checkpoint_report.h"
#include "runtime/cli/results/loaded_savers.h"
#include "runtime/platform/files/absolute_path.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/clock.h"

namespace belay::runtime {
namespace {

struct CheckpointArguments {
  std::string verb;  // ls, show, verify, diff, convert, rm, pin
  std::string path;
  std::string second;        // of diff and convert
  std::string saver;         // empty: by the file; for convert the saver that writes
  std::string source_saver;  // of convert; empty: by the file
  std::string only;          // a regular expression; empty: all tensors
  std::string tensor;        // of show; empty: a table of all
  bool force = false;
  bool off = false;
  bool json = false;
};

constexpr struct {
  const char* name;
  std::size_t paths;
  const char* options;  // with a space after each
} kVerbs[] = {{"ls", 1, "json "},
              {"show", 1, "json only tensor saver "},
              {"verify", 1, "json saver "},
              {"diff", 2, "json only saver "},
              {"convert", 2, "json only saver source-saver "},
              {"rm", 1, "json force "},
              {"pin", 1, "json off "}};

std::vector<std::string> checkpoint_verbs() {
  std::vector<std::string> verbs;
  for (const auto& verb : kVerbs) verbs.emplace_back(verb.name);
  return verbs;
}

// Makes "." and ".." absolute, since they do not have the folder's name.
std::string with_name(std::string path) {
  while (path.size() > 1 && path.ends_with('/')) path.pop_back();
  const std::string last = std::filesystem::path(path).filename().string();
  return last == "." || last == ".." ? absolute_path(path) : path;
}

// Finds the verb's row. It checks the number of paths, and refuses options of other verbs.
void check_verb(const std::vector<std::string>& words, const Given& given) {
  const std::string see = given.see_help();
  const std::vector<std::string> known = checkpoint_verbs();
  const std::string name = words.empty() ? "" : words[0];
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs), [&](const auto& v) { return v.name == name; });
  if (words.empty())
    throw UsageError("[B5003] belay checkpoint takes what to do (" + joined(known) + ") and a path" + see);
  if (verb == std::end(kVerbs))
    throw UsageError("[B5001] belay checkpoint has no '" + escaped(name) + "'" + did_you_mean(name, known) + see);
  if (words.size() != verb->paths + 1)
    throw UsageError(fmt::format("[B5003] belay checkpoint {} takes {}, {} were given{}", name,
                                 verb->paths == 1 ? "one path" : "two paths", words.size() - 1, see));
  const std::string options = " " + std::string(verb->options);
  for (const std::string& option : given.options())
    if (options.find(" " + option + " ") == options.npos)
      throw UsageError("[B5002] belay checkpoint " + name + " has no option --" + option + see);
}

CheckpointArguments checkpoint_arguments(const Given& given) {
  CheckpointArguments out;
  const std::vector<std::string> words = given.arguments();
  check_verb(words, given);
  out.verb = words[0];
  out.path = with_name(words[1]);
  if (words.size() > 2) out.second = with_name(words[2]);
  out.saver = given.text("saver");
  out.source_saver = given.text("source-saver");
  out.only = given.text("only");
  out.tensor = given.text("tensor");
  out.force = given.has("force");
  out.off = given.has("off");
  out.json = given.has("json");
  return out;
}

bool is_usage(Code code) {
  return code == Code::kInvalidArgument || code == Code::kNotFound || code == Code::kAlreadyExists ||
         code == Code::kFailedPrecondition;
}

// The target of a path, open for reading.
struct OpenStored {
  std::unique_ptr<StoredTensors> tensors;
  const CheckpointReader* checkpoint = nullptr;  // of belay's own
  const SaverUse* saver = nullptr;
};

// A checkpoint of a run directory by its path.
struct OneCheckpoint {
  std::unique_ptr<OpenDirectory> run;
  std::string name;
  std::string path() const { return path_in(run->path(), name); }
};

class CheckpointCommand {
 public:
  CheckpointCommand(const CheckpointArguments& arguments, FileSystem& files,
                    const std::function<PluginSearch()>& search, std::ostream& out, std::ostream& err)
      : arguments_(arguments),
        files_(files),
        out_(out),
        err_(err),
        log_(make_stderr_logger(LogFormat::kText, LogLevel::kInfo, system_clock())),
        savers_(search, *log_) {}

  int run() {
    const std::string& verb = arguments_.verb;
    if (verb == "ls") return ls();
    if (verb == "show") return show();
    if (verb == "verify") return verify();
    if (verb == "diff") return diff();
    if (verb == "convert") return convert();
    return verb == "rm" ? rm() : pin_or_unpin();
  }

 private:
  int ls() {
    print_list(list_stored(files_, arguments_.path, *log_), system_clock().wall_ns(), arguments_.json, out_);
    return kExitDone;
  }

  // `saver`: for a file, instead of the saver by its name and content.
  OpenStored open(const std::string& path, const std::string& saver) {
    StoredPlace place = find_stored(files_, path, *log_);
    OpenStored opened;
    if (place.checkpoint != nullptr) {
      opened.saver = &savers_.use(place.saver);
      opened.checkpoint = place.checkpoint.get();
      opened.tensors = std::move(place.checkpoint);
      return opened;
    }
    const std::string name = saver.empty() ? place.saver : saver;
    if (name.empty())
      throw UsageError("[B4033] " +
                       no_saver_text(files_, place.path, arguments_.verb == "convert" ? "--source-saver" : "--saver"));
    opened.saver = &savers_.use(name);
    opened.tensors = open_stored_tensors(files_, place.path, *opened.saver, *log_);
    return opened;
  }

  static std::optional<std::int64_t> step_of(const OpenStored& stored) {
    if (stored.checkpoint != nullptr) return stored.checkpoint->index().global_step;
    return step_of_file(path_parts(stored.tensors->path()).name);
  }

  // NOT_FOUND if the pattern matches no tensor. Otherwise a comparison of no tensors would succeed.
  static void require_match(const NamePattern& only, const std::vector<const StoredTensors*>& places) {
    if (only.matches_all()) return;
    std::vector<std::string> names;
    for (const StoredTensors* place : places)
      for (TensorInfo& t : place->tensors()) {
        if (only.matches(t.name)) return;
        names.push_back(std::move(t.name));
      }
    only.fail_unmatched("tensor", std::move(names));
  }

  int show() {
    const OpenStored stored = open(arguments_.path, arguments_.saver);
    const NamePattern only("--only", arguments_.only);
    if (!arguments_.tensor.empty()) return show_values(stored);
    require_match(only, {stored.tensors.get()});
    ShownStored shown_stored{stored.tensors->path(), step_of(stored), stored.saver->name};
    if (stored.checkpoint != nullptr) shown_stored.schema = stored.checkpoint->schema();
    if (stored.checkpoint != nullptr)
      shown_stored.digest =
          digest_in_run_state(files_.open_directory(stored.tensors->path())->read(kStateName, kMaxStateBytes));
    std::vector<TensorInfo> readable;
    for (TensorInfo& t : stored.tensors->tensors()) {
      if (!only.matches(t.name)) continue;
      if (is_readable(t)) readable.push_back(t);
      shown_stored.tensors.push_back({std::move(t)});
    }
    std::size_t next = 0;  // both are in the same order
    read_tensors(*stored.tensors, *stored.saver, readable, [&](const NamedTensor& t) {
      while (shown_stored.tensors[next].info.name != t.name) ++next;
      shown_stored.tensors[next] = shown(t);
    });
    print_shown(shown_stored, arguments_.json, out_);
    return kExitDone;
  }

  int show_values(const OpenStored& stored) {
    std::vector<std::string> names;
    for (const TensorInfo& t : stored.tensors->tensors()) {
      names.push_back(t.name);
      if (t.name != arguments_.tensor) continue;
      if (!is_readable(t))
        throw UsageError(
            fmt::format("[B4029] tensor {} is {}; its values cannot be shown", single_quoted(t.name), form_text(t)));
      read_tensors(*stored.tensors, *stored.saver, {t},
                   [&](const NamedTensor& value) { print_values(value, arguments_.json, out_); });
      return kExitDone;
    }
    throw UsageError(fmt::format("[B4022] {} has no tensor {}{}", single_quoted(stored.tensors->path()),
                                 single_quoted(arguments_.tensor), did_you_mean(arguments_.tensor, names)));
  }

  int verify() {
    std::vector<VerifiedStored> all;
    VerifyOptions options;
    options.saver_of_files = arguments_.saver;
    options.saver = [&](const std::string& name) { return saver_or_null(name); };
    options.report = [&](const VerifiedStored& v) { all.push_back(v); };
    verify_stored(files_, arguments_.path, options, *log_);
    print_verified(all, arguments_.json, out_);
    bool damaged = false, unread = false;
    for (const VerifiedStored& v : all) {
      damaged = damaged || !v.problem.empty();
      unread = unread || !v.has_saver;
    }
    if (all.empty()) throw UsageError("[B4025] there is no checkpoint in " + single_quoted(arguments_.path));
    return damaged ? kExitTrainingFailed : unread ? kExitPlugin : kExitDone;
  }

  const SaverUse* saver_or_null(const std::string& name) {
    try {
      return &savers_.use(name);
    } catch (const LoadError& e) {
      if (missing_ != name) err_ << coded_line("warning", e.what()) << "\n";
      missing_ = name;
      return nullptr;
    }
  }

  int diff() {
    const OpenStored a = open(arguments_.path, arguments_.saver), b = open(arguments_.second, arguments_.saver);
    const NamePattern only("--only", arguments_.only);
    require_match(only, {a.tensors.get(), b.tensors.get()});
    std::vector<StoredDifference> differences;
    const ComparedStored sums = compare_stored(
        {*a.tensors, *a.saver}, {*b.tensors, *b.saver}, [&](const std::string& name) { return only.matches(name); },
        [&](const StoredDifference& d) { differences.push_back(d); });
    print_differences(differences, sums, arguments_.json, out_);
    return sums.different == 0 ? kExitDone : kExitTrainingFailed;
  }

  int convert() {
    const std::string by_name = saver_of_name(path_parts(arguments_.second).name);
    const std::string writer = arguments_.saver.empty() ? by_name : arguments_.saver;
    if (writer.empty())
      throw UsageError(
          "[B5006] belay checkpoint convert: name what writes with --saver, as in --saver npz; or end the target's "
          "name with .safetensors, .npz or .index");
    const OpenStored source = open(arguments_.path, arguments_.source_saver);
    const SaverUse& saver = savers_.use(writer);
    const NamePattern only("--only", arguments_.only);
    require_match(only, {source.tensors.get()});
    const StoredCopy copy = read_copy(*source.tensors, *source.saver, source.checkpoint,
                                      [&](const std::string& name) { return only.matches(name); });
    for (const TensorInfo& t : copy.left_out)
      err_ << "warning: tensor " << single_quoted(t.name) << " is " << form_text(t) << "; it is left out\n";
    try {
      write_copy(files_, copy, arguments_.second, saver, system_clock(), *log_);
    } catch (const RunInUse&) {
      throw;
    } catch (const Error& e) {
      if (is_usage(e.code())) throw;
      err_ << error_line(e.what()) << "\n";
      return kExitSaveFailed;
    }
    report_copy(copy, saver);
    return kExitDone;
  }

  void report_copy(const StoredCopy& copy, const SaverUse& saver) {
    CopiedStored copied{arguments_.second, saver.name, copy.tensors->tensors().size()};
    for (const NamedTensor& t : copy.tensors->tensors()) copied.bytes += TensorView(t.tensor).bytes();
    for (const TensorInfo& t : copy.left_out) copied.left_out.push_back(t.name);
    print_copied(copied, arguments_.json, out_);
  }

  // The path's checkpoint in its directory.
  OneCheckpoint one_checkpoint() {
    const std::string& path = arguments_.path;
    if (!files_.exists(path)) fail(Code::kNotFound, "[B4025] there is no " + single_quoted(path));
    const PathParts parts = path_parts(path);
    OneCheckpoint one{files_.open_directory(parts.parent), parts.name};
    if (!is_entry_name(parts.name) || !parse_checkpoint_name(parts.name) ||
        one.run->status(parts.name).kind != FileKind::kDirectory)
      throw UsageError(
          fmt::format("[B4025] belay checkpoint {} takes one checkpoint of a run directory, such as "
                      "runs/mnist/model.ckpt-2000; {} is none",
                      arguments_.verb, single_quoted(path)));
    return one;
  }

  int rm() {
    const OneCheckpoint one = one_checkpoint();
    std::optional<RunLock> lock;
    if (one.run->exists(kLockName) || one.run->exists(kStateFileName)) lock = RunLock::take(*one.run, system_clock());
    const std::string needed = arguments_.force ? "" : why_needed(*one.run, one.name, *log_);
    if (!needed.empty())
      throw UsageError(fmt::format("[B5013] {} is not removed: {}; --force removes it all the same",
                                   single_quoted(one.path()), needed));
    remove_and_forget(*one.run, one.name, *log_);
    print_change("removed", one.path(), arguments_.json, out_);
    return kExitDone;
  }

  int pin_or_unpin() {
    const OneCheckpoint one = one_checkpoint();
    const auto directory = one.run->open_directory(one.name);
    arguments_.off ? unpin(*directory) : pin(*directory);
    print_change(arguments_.off ? "unpinned" : "pinned", one.path(), arguments_.json, out_);
    return kExitDone;
  }

  const CheckpointArguments& arguments_;
  FileSystem& files_;
  std::ostream& out_;
  std::ostream& err_;
  const std::unique_ptr<Logger> log_;
  LoadedSavers savers_;
  std::string missing_;  // a saver that was not found
};

// Returns an exit status. `search` finds savers; it is called when one is needed. Starts neither oneDNN nor a team of
// threads.
int checkpoint_command(const CheckpointArguments& arguments, FileSystem& files,
                       const std::function<PluginSearch()>& search, std::ostream& out, std::ostream& err) {
  try {
    return CheckpointCommand(arguments, files, search, out, err).run();
  } catch (const LoadError& e) {
    err << error_line(e.what()) << "\n";
    return kExitPlugin;
  } catch (const RunInUse& e) {
    err << error_line(e.what()) << "\n";
    return kExitInUse;
  } catch (const RestoreError& e) {
    err << error_line(e.what()) << "\n";
    return kExitNoRestore;
  } catch (const Error& e) {
    err << error_line(e.what()) << "\n";
    if (is_usage(e.code())) return kExitUsage;
    return e.code() == Code::kDataLoss ? kExitNoRestore : kExitTrainingFailed;
  }
}

}  // namespace

Command declare_checkpoint() {
  return {.name = "checkpoint",
          .arguments = "ls|show|verify|diff|convert|rm|pin PATH",
          .what = "lists, shows, compares, converts and removes checkpoints and other tensor files",
          .options =
              {
                  {"only", "show, diff, convert: only tensors whose names begin with a match of REGEX", Takes::kText,
                   "REGEX"},
                  {"tensor", "show: prints the values of this tensor", Takes::kText, "NAME"},
                  {"saver",
                   "convert: the saver that writes; show, verify, diff: the saver that reads a file, whatever its name",
                   Takes::kText, "NAME", nullptr, PluginKind::kSaver},
                  {"source-saver", "convert: the saver that reads the source, if that is a file", Takes::kText, "NAME",
                   nullptr, PluginKind::kSaver},
                  {"force", "rm: also removes checkpoints that the run needs"},
                  {"off", "pin: removes the mark"},
                  {"json", "as JSON"},
              },
          .run =
              [](const Given& given) {
                return checkpoint_command(checkpoint_arguments(given), posix_file_system(), default_search, std::cout,
                                          std::cerr);
              },
          .offers =
              [](std::size_t place, const std::string&, const std::function<PluginSearch()>&) {
                return place == 0 ? checkpoint_verbs() : std::vector<std::string>();
              }};
}

}  // namespace belay::runtime
