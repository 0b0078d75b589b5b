// SPDX-License-Identifier: Apache-2.0
// Restoring: the newest checkpoint that can be restored, one of another run, or one by its path.
#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <mutex>
#include <utility>

#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/read/compare_tensors.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "runtime/checkpoint/read/restore_crashes.h"
#include "runtime/monitored/run/fingerprint.h"
#include "runtime/monitored/saving/averages.h"
#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// `targets`: the memory of the session's variables. Missing variables become 0.
void read_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver,
                    const std::vector<NamedTensor>& targets) {
  const std::unique_lock gate(session.store().gate());
  for (Variable* v : session.variables()) v->initialized = false;
  if (targets.size() < session.variables().size())
    for (Variable* v : session.variables()) std::memset(v->value.data(), 0, v->value.bytes());
  stored.read(saver, targets);
  for (Variable* v : session.variables()) {
    v->initialized = true;
    ++v->version;
  }
}

}  // namespace

void restore_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver) {
  check_fits(stored, variable_infos(session));
  std::vector<NamedTensor> targets;
  for (Variable* v : session.variables()) targets.push_back({v->name, v->value.view(), true});
  read_variables(session, stored, saver, targets);
}

void load_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver) {
  const std::vector<TensorInfo> all = stored.tensors();
  std::map<std::string_view, const TensorInfo*> by_name;
  for (const TensorInfo& t : all) by_name[t.name] = &t;
  const auto has = [&](const TensorInfo& wanted) {
    const auto at = by_name.find(wanted.name);
    return at != by_name.end() && *at->second == wanted;
  };
  std::vector<TensorInfo> wanted = variable_infos(session);
  const std::string& step = session.global_step_name();  // other programs' files may have none
  if (std::none_of(all.begin(), all.end(), [&](const TensorInfo& t) { return t.name == step; }))
    std::erase_if(wanted, [&](const TensorInfo& v) { return v.name == step; });
  check_holds(stored, wanted);
  const bool averages = takes_averages(stored, saver);
  std::vector<NamedTensor> targets;
  for (const TensorInfo& v : wanted) {
    const TensorInfo average{average_of(v.name), v.dtype, v.dims};
    const std::string& name = averages && has(average) ? average.name : v.name;
    targets.push_back({name, session.store().find(v.name)->value.view(), true});
  }
  read_variables(session, stored, saver, targets);
}

RestoredRun restore_exactly(const RunEnvironment& environment, DirectSession& session, const SaverUse& saver,
                            const std::string& path) {
  FileSystem& files = environment.files;
  const bool in_directory = files.exists(path) && files.status(path).kind == FileKind::kDirectory;
  const std::unique_ptr<StoredTensors> stored =
      in_directory ? CheckpointReader::open(files.open_directory(path), CheckFiles::kWhenRead)
                   : open_stored_tensors(files, path, saver, environment.log);
  restore_variables(session, *stored, saver);
  RestoredRun restored{stored->path(), {}};
  if (const auto* checkpoint = dynamic_cast<const CheckpointReader*>(stored.get())) {
    restored.state = checkpoint->state();
  } else {
    restored.state.global_step = std::max<std::int64_t>(session.global_step(), 0);
  }
  session.store().replace_positions(restored.state.input_positions);
  session.store().mark_clean();
  environment.log.info("", fmt::format("restored step {} from {}", restored.state.global_step, escaped(restored.path)));
  return restored;
}

RestoredRun RunSaver::restore(DirectSession& session, const CheckpointReader& checkpoint) {
  restore_variables(session, checkpoint, options_.saver);
  session.store().replace_positions(checkpoint.state().input_positions);
  session.store().mark_clean();
  restored_.emplace(checkpoint, total_of_versions(session));
  written_versions_.reset();
  const std::vector<std::string> differences =
      differences_between(checkpoint.state().fingerprint, options_.fingerprint);
  if (!differences.empty())
    environment_.log.warning(
        "", "the run may not end with the same bits as one that was never stopped: " + joined(differences, "; "));
  environment_.log.info(
      "", fmt::format("restored step {} from {}", checkpoint.state().global_step, escaped(checkpoint.path())));
  return {checkpoint.path(), checkpoint.state()};
}

namespace {

// Returns the newest checkpoint readable by `restore`. Damage shows during the read, and the previous one is then
// tried. The same holds if a saver lost data silently: its files are then whole and hold too little. `other`: that
// directory instead of the run's own.
template <class Restore>
std::optional<RestoredRun> restore_newest(LockedDirectory& run, const OpenDirectory* other, Logger& log,
                                          const std::string& basename, const Restore& restore) {
  std::map<std::string, std::string> unreadable;
  for (;;) {
    constexpr CheckFiles check = CheckFiles::kWhenRead;
    const std::unique_ptr<CheckpointReader> found = other == nullptr
                                                        ? find_restorable(run, log, basename, unreadable, check)
                                                        : find_restorable(*other, log, {}, unreadable, check);
    if (found == nullptr) return std::nullopt;
    std::optional<WatchedRestore> watched;
    if (other == nullptr) watched.emplace(run, found->name());
    try {
      return restore(*found);
    } catch (const Error& e) {
      if (e.code() != Code::kDataLoss) throw;
      unreadable.emplace(found->name(), e.message());
    }
  }
}

}  // namespace

std::optional<RestoredRun> RunSaver::restore_latest(DirectSession& session, const std::string& directory) {
  thread_.wait();  // the checkpoint that it writes becomes the newest, or never exists
  const bool own = directory == run_.path();
  if (!own && !environment_.files.exists(directory)) return std::nullopt;
  std::unique_ptr<OpenDirectory> other = own ? nullptr : environment_.files.open_directory(directory);
  std::optional<RestoredRun> restored =
      restore_newest(run_, other.get(), environment_.log, options_.checkpoint.basename,
                     [&](const CheckpointReader& checkpoint) { return restore(session, checkpoint); });
  if (!own || !restored) restored_.reset();
  if (own && restored) {
    const std::string name = checkpoint_name(restored->state.global_step, options_.checkpoint.basename);
    if (!series_.is_current(name)) restored_.reset();
    series_.restored(name, restored->state.best);
    best_ = series_.best();
    evaluation_.note_restored(find_step(best_, restored->state.global_step), session);
    saved_path_ = restored->path;
    saved_step_ = restored->state.global_step;
    if (options_.on_saved) options_.on_saved(saved_path_, saved_step_);
  }
  return restored;
}

RestoredRun RunSaver::restore_exactly(DirectSession& session, const std::string& path) {
  thread_.wait();
  RestoredRun restored =
      restore(session, *CheckpointReader::open(environment_.files.open_directory(path), CheckFiles::kWhenRead));
  restored_.reset();
  return restored;
}

}  // namespace belay::runtime
