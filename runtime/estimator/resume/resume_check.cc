// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/resume/resume_check.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_file.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/cluster/rank_positions.h"
#include "runtime/estimator/resume/manifest_changes.h"
#include "runtime/manifest/parse.h"
#include "runtime/manifest/show.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string read_if_there(const OpenDirectory& directory, std::string_view name) {
  try {
    return directory.exists(name) ? directory.read(name, kMaxManifestBytes) : "";
  } catch (const Error&) {
    return "";
  }
}

// Whether the training's schema is compared after it. --resume=changed does not skip that comparison.
bool is_of_data(std::string_view key) { return key.starts_with("input.train."); }

// A training does not depend on the settings of a later prediction.
bool concerns_training(const std::string& key) {
  return !key.starts_with("input.predict.") && !key.starts_with("predict.");
}

// Returns the value of an input's text option; empty: it is not set.
std::string text_of(const ResolvedPlugin& input, std::string_view option) {
  for (std::uint64_t i = 0; i < input.options.size(); ++i) {
    const belay_named_value& given = input.options.data()[i];
    if (std::string_view(given.name.data, given.name.size) != option) continue;
    const OptionValue value = option_value(given.value);
    const auto* text = std::get_if<std::string>(&value);
    return text == nullptr ? "" : *text;
  }
  return "";
}

// Returns true if one more row of the input's files may move other rows to another part. The options are the SDK's
// (belay/column_split.h). Groups and words of a column stay in their part.
bool splits_by_all_rows(const ResolvedPlugin& input) {
  const std::string part = text_of(input, "split"), by = text_of(input, "split_by");
  return !part.empty() && part != "all" && by != "groups" && by != "column";
}

}  // namespace

void ResumeCheck::warn_of_split_files(const ResolvedPlugins& plugins) const {
  std::optional<Earlier> earlier;
  try {
    earlier = find_earlier();
  } catch (const Error&) {  // the checkpoint is read later, and its errors are reported there
  }
  if (!earlier) return;
  const std::vector<DataFile> trained = parse_data_files(earlier->manifest);
  for (const auto& [section, input] : plugins.inputs) {
    if (section == "train" || !splits_by_all_rows(input)) continue;
    for (const DataFile& now : data_files(files_, "input." + section, input, false))
      for (const DataFile& before : trained) {
        bool other_content = false;
        if (!is_of_data(before.option) || before.path != now.path) continue;
        const std::string difference = difference_of(before, now, other_content);
        if (other_content)
          log_.warning("", now.option + ": " + escaped(now.path) + " " + difference + ", since " + earlier->name +
                               " was saved, so the split chooses other rows, and some of them may be rows of the "
                               "training; give new rows a file of their own, with split = \"all\"");
      }
  }
}

std::optional<ResumeCheck::Earlier> ResumeCheck::find_earlier() const {
  const std::string& dir = manifest_.run.dir;
  if (dir.empty() || !files_.exists(dir)) return std::nullopt;
  const std::unique_ptr<OpenDirectory> run = files_.open_directory(dir);
  const std::string name = newest_checkpoint(*run);
  if (name.empty()) return std::nullopt;
  Earlier earlier{dir + "/" + name, name, dir + "/" + name + "/" + std::string(kManifestName), ""};
  if (run->status(name).kind == FileKind::kDirectory)
    earlier.manifest = read_if_there(*run->open_directory(name), kManifestName);
  if (earlier.manifest.empty()) {  // from a version that kept it only beside the checkpoints
    earlier.manifest_path = dir + "/" + std::string(kManifestName);
    earlier.manifest = read_if_there(*run, kManifestName);
  }
  return earlier;
}

bool ResumeCheck::fits_basename(Diagnostics& problems) const {
  const std::string& dir = manifest_.run.dir;
  if (dir.empty() || !files_.exists(dir)) return true;
  const std::unique_ptr<OpenDirectory> run = files_.open_directory(dir);
  const std::vector<std::string> found = basenames_in(*run);
  try {
    check_basename(*run, manifest_.checkpoint.basename);
    return true;
  } catch (const Error& e) {
    const bool written = manifest_.places.contains("checkpoint.basename");
    problems.add(manifest_.at(written ? "checkpoint.basename" : "run.dir"), std::string(e.message()),
                 "continue them by [checkpoint] basename = " +
                     double_quoted(found.empty() ? kDefaultBasename : found[0]) + ", or begin anew by --from-scratch");
    return false;
  }
}

void ResumeCheck::look_at_files(const ResolvedPlugins& plugins) {
  data_ = training_files(files_, manifest_, plugins, options_.exact);
}

void ResumeCheck::compare(const ResolvedPlugins& plugins, const HookInfos& hooks, const Environment& environment,
                          Diagnostics& problems) {
  const std::string& dir = manifest_.run.dir;
  try {
    if (!dir.empty() && files_.exists(dir)) files_.open_directory(dir);
  } catch (const Error& e) {
    problems.add(manifest_.at("run.dir"), std::string("[B5020] the run directory cannot be used: ") + e.what(),
                 "take a folder that this user can write, or the name of one that is to be made");
    return;
  }
  std::optional<Earlier> earlier;
  try {
    if (!fits_basename(problems)) return;
    earlier = find_earlier();
  } catch (const Error& e) {
    log_.warning("", std::string("the run directory cannot be read: ") + e.what());
    return;
  }
  if (!earlier) {
    if (options_.must)
      problems.add(manifest_.at("run.dir"),
                   "[B5022] --resume=must, and " + (manifest_.run.dir.empty()
                                                        ? std::string("there is no run.dir")
                                                        : single_quoted(manifest_.run.dir) + " holds no checkpoint"),
                   "set run.dir to the directory of the run to continue, or leave --resume out to begin a new one");
    return;
  }
  if (earlier->manifest.empty()) return;
  compare_manifests(*earlier, plugins, hooks, environment, problems);
  compare_files(*earlier, problems);
}

void ResumeCheck::refuse(Location at, const std::string& what, bool of_data, Diagnostics& problems) const {
  if (options_.accept_changes)
    log_.warning("", "--resume=changed: " + what);
  else
    problems.add(std::move(at), fmt::format("[B5021] {}", what),
                 "undo it, or accept it by --resume=changed" +
                     std::string(of_data ? " (not with other features, columns or classes than the training's)" : "") +
                     ", or begin anew by --from-scratch");
}

void ResumeCheck::compare_manifests(const Earlier& earlier, const ResolvedPlugins& plugins, const HookInfos& hooks,
                                    const Environment& environment, Diagnostics& problems) const {
  Diagnostics unreadable;
  const std::optional<Manifest> before =
      parse_manifest(ManifestSource{earlier.manifest_path, earlier.manifest}, {}, environment, unreadable);
  if (!before || !unreadable.empty()) {
    log_.warning("", "what " + escaped(earlier.checkpoint) +
                         " was trained with cannot be compared with this manifest: " + unreadable.sorted()[0].message +
                         " in " + escaped(earlier.manifest_path));
    return;
  }
  std::vector<std::string> others;
  for (const ManifestChange& change : changes_between(*before, manifest_, plugins, hooks))
    if (change.changes_numbers)
      refuse(change.at, change_text(change) + ": another training than that of " + earlier.name, is_of_data(change.key),
             problems);
    else if (concerns_training(change.key))
      others.push_back(change_text(change));
  if (!others.empty()) log_.info("", "changed since " + earlier.name + " was saved: " + joined(others, "; "));
}

bool ResumeCheck::doubts_fit() const {
  const bool has_files =
      std::any_of(data_.begin(), data_.end(), [](const TrainingFile& f) { return is_of_data(f.file.option); });
  return other_data_ || (options_.exact && !has_files);
}

void ResumeCheck::compare_fit(const std::vector<std::string>& differences, const Location& at,
                              Diagnostics& problems) const {
  for (const std::string& difference : differences) {
    const std::string text = "[input.train] " + difference;
    if (options_.exact)
      problems.add(at, "[B5023] --exact: " + text, "make it as it was, or leave --exact out");
    else
      refuse(at, text, false, problems);  // the data fits the model
  }
}

void ResumeCheck::compare_files(const Earlier& earlier, Diagnostics& problems) {
  for (const DataFile& before : parse_data_files(earlier.manifest)) {
    const auto now =
        std::find_if(data_.begin(), data_.end(), [&](const TrainingFile& f) { return f.file.option == before.option; });
    if (now == data_.end()) continue;  // a change of the manifest, or an error of the plugin
    bool other_content = false;
    const std::string difference = difference_of(before, now->file, other_content);
    if (difference.empty()) continue;
    const std::string text = before.option + ": " + escaped(now->file.path) + " " + difference;
    other_data_ = other_data_ || (other_content && is_of_data(before.option));
    if (other_content)
      refuse(now->at, text + ", since " + earlier.name + " was saved", is_of_data(before.option), problems);
    else
      log_.info("", text + ", since " + earlier.name + " was saved (--exact compares all of it)");
  }
}

void ResumeCheck::compare(const Fingerprint& own, int processes, Diagnostics& problems) const {
  if (!options_.exact) return;
  const std::optional<Earlier> earlier = find_earlier();
  if (!earlier) return;
  const std::unique_ptr<OpenDirectory> run = files_.open_directory(manifest_.run.dir);
  std::string reason;
  const std::unique_ptr<CheckpointReader> checkpoint =
      open_if_whole(*run, earlier->name, reason, CheckFiles::kWhenRead);
  if (checkpoint == nullptr) return;  // restoring uses an older one, and reports it
  for (const std::string& difference : differences_between(checkpoint->state().fingerprint, own))
    problems.add({manifest_.file, 0, 0}, "[B5023] --exact: since " + earlier->name + " was saved " + difference,
                 "make it as it was, or leave --exact out");
  const int before = processes_of(checkpoint->state().input_positions, "train");
  if (before != 0 && before != processes)
    problems.add({manifest_.file, 0, 0},
                 fmt::format("[B5023] --exact: {} was written by a run of {}{}, and this one has {}", earlier->name,
                             before, before == 1 ? " process" : " processes", processes),
                 "start as many, or leave --exact out");
}

std::string ResumeCheck::manifest_to_keep() const {
  std::vector<DataFile> files;
  for (const TrainingFile& f : data_) files.push_back(f.file);
  return effective_manifest(manifest_) + data_file_lines(files);
}

}  // namespace belay::runtime
