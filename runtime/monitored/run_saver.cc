// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/run_saver.h"

#include <cstdio>
#include <mutex>

#include "runtime/checkpoint/compare_tensors.h"
#include "runtime/checkpoint/find_restorable.h"
#include "runtime/checkpoint/names.h"
#include "runtime/monitored/fingerprint.h"
#include "runtime/platform/text.h"

namespace belay::runtime {

std::vector<TensorInfo> variable_infos(const DirectSession& session) {
  std::vector<TensorInfo> infos;
  for (const Variable* v : session.variables()) infos.push_back({v->name, v->value.dtype(), v->value.dims()});
  return infos;
}

SaverUse saver_use(PluginInstance& codec) {
  SaverUse use{&codec.table<belay_saver_api>(), codec.self(), codec.plugin().info.name, codec.plugin().version};
  use.write = [&codec](belay_dir* directory, belay_tensors* tensors) {
    codec.call("write", &belay_saver_api::write, directory, tensors);
  };
  use.read = [&codec](belay_dir* directory, belay_tensors* tensors) {
    codec.call("read", &belay_saver_api::read, directory, tensors);
  };
  return use;
}

namespace {

void read_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver) {
  std::vector<NamedTensor> targets;
  for (Variable* v : session.variables()) targets.push_back({v->name, v->value.view()});
  const std::unique_lock gate(session.store().gate());
  for (Variable* v : session.variables()) v->initialized = false;
  stored.read(saver, targets);
  for (Variable* v : session.variables()) {
    v->initialized = true;
    ++v->version;
  }
}

}  // namespace

void restore_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver) {
  check_fits(stored, variable_infos(session));
  read_variables(session, stored, saver);
}

void load_variables(DirectSession& session, const StoredTensors& stored, const SaverUse& saver) {
  check_holds(stored, variable_infos(session));
  read_variables(session, stored, saver);
}

RunSaver::RunSaver(const RunEnvironment& environment, LockedDirectory& run, RunSaverOptions options)
    : environment_(environment),
      run_(run),
      options_(std::move(options)),
      series_(environment.files, run, environment.clock, environment.log, options_.checkpoint) {
  series_.recover();
}

void RunSaver::compare_fingerprint(const Fingerprint& stored) const {
  const std::vector<std::string> differences = differences_between(stored, options_.fingerprint);
  if (!differences.empty())
    environment_.log.warning(
        "", "the run may not end with the same bits as one that was never stopped: " + joined(differences, "; "));
}

namespace {

// Changes with every write of a variable.
std::uint64_t total_of_versions(const DirectSession& session) {
  std::uint64_t total = 0;
  for (const Variable* v : session.variables()) total += v->version.load(std::memory_order_relaxed);
  return total;
}

}  // namespace

RestoredRun RunSaver::restore(DirectSession& session, const CheckpointReader& checkpoint) {
  restore_variables(session, checkpoint, options_.saver);
  session.store().replace_positions(checkpoint.state().input_positions);
  session.store().mark_clean();
  compare_fingerprint(checkpoint.state().fingerprint);
  environment_.log.info(
      "", "restored step " + std::to_string(checkpoint.state().global_step) + " from " + escaped(checkpoint.path()));
  return {checkpoint.path(), checkpoint.state()};
}

std::optional<RestoredRun> RunSaver::restore_latest(DirectSession& session, const std::string& directory) {
  const bool own = directory == run_.path();
  if (!own && !environment_.files.exists(directory)) return std::nullopt;
  std::unique_ptr<OpenDirectory> other = own ? nullptr : environment_.files.open_directory(directory);
  const std::unique_ptr<CheckpointReader> found = find_restorable(own ? run_ : *other, environment_.log);
  if (found == nullptr) return std::nullopt;
  RestoredRun restored = restore(session, *found);
  if (own) {
    series_.restored(found->name(), restored.state.best);
    evaluated_.reset();
    if (const BestCheckpoint* best = find_step(series_.best(), restored.state.global_step))
      evaluated_ = {best->step, best->value, total_of_versions(session)};
    now_current(restored.path, restored.state.global_step);
  }
  return restored;
}

RestoredRun RunSaver::restore_exactly(DirectSession& session, const std::string& path) {
  return restore(session, *CheckpointReader::open(environment_.files.open_directory(path)));
}

// ---- the best ----

void RunSaver::note_evaluation(std::int64_t step, double value) {
  if (options_.checkpoint.keep_best == 0) return;
  evaluated_ = {step, value};
  if (series_.best_with(step, value) != series_.best()) save_requested_by_hook();
}

// Of the variables that are saved now; none where something wrote to them since they were evaluated.
std::optional<double> RunSaver::value_of(const DirectSession& session, std::int64_t step) const {
  if (!evaluated_ || evaluated_->step != step || evaluated_->versions != total_of_versions(session))
    return std::nullopt;
  return evaluated_->value;
}

void RunSaver::say_if_best(std::int64_t step) const {
  const BestList& list = series_.best();
  const BestCheckpoint* best = find_step(list, step);
  if (best == nullptr) return;
  const auto place = best - list.checkpoints.data() + 1;
  char value[32];
  std::snprintf(value, sizeof(value), "%.6g", best->value);
  environment_.log.info("", checkpoint_name(step) + " is " +
                                (place == 1 ? "the best checkpoint so far"
                                            : "number " + std::to_string(place) + " of the best checkpoints") +
                                ": " + escaped(list.metric) + " = " + value);
}

// ---- saving ----

namespace {

constexpr const char* kSaveAdvice = "; after_save can ask to stop";

}  // namespace

std::string RunSaver::at_boundary(DirectSession& session, HookSet& hooks) {
  if (!requested()) return "";
  requested_ = false;
  return without_end_of_input([&] { return save(session, hooks, nullptr); }, kSaveAdvice);
}

void RunSaver::begin_end(DirectSession& session, HookSet& hooks) {
  run_.check_lock();
  ending_ = std::make_unique<Ending>(Ending{&session, &hooks, hooks.save_states(), {}});
  diverged_.reset();
  // A request that no boundary has served yet (a signal's) is served now.
  if (requested_.exchange(false)) save_while_ending();
}

void RunSaver::save_requested_by_hook() {
  if (ending_ == nullptr) {
    request();
  } else {
    save_while_ending();
  }
}

void RunSaver::save_while_ending() {
  // Two hooks that save at the end write one checkpoint.
  const std::uint64_t versions = total_of_versions(*ending_->session);
  if (ending_->asked_at == versions) return;
  ending_->asked_at = versions;
  try {
    without_end_of_input([&] { return save(*ending_->session, *ending_->hooks, &ending_->states); }, kSaveAdvice);
  } catch (const Error& e) {
    if (e.code() != Code::kDiverged) throw;
    diverged_ = e;
  }
}

void RunSaver::now_current(const std::string& path, std::int64_t step) {
  saved_path_ = path;
  saved_step_ = step;
  if (options_.on_saved) options_.on_saved(path, step);
}

// A signal's save comes behind the step that is under way, so it has only a part of the grace.
void RunSaver::warn_if_slower_than_grace(double seconds) {
  constexpr double kPartForTheSave = 0.8;
  const double grace = options_.signal_grace_secs;
  if (grace <= 0 || seconds <= grace * kPartForTheSave || warned_of_grace_) return;
  warned_of_grace_ = true;
  char text[160];
  std::snprintf(text, sizeof(text),
                "a save takes %.1f s, and after a signal the run has %g s: its last checkpoint may not be written; "
                "raise signal_grace_secs",
                seconds, grace);
  environment_.log.warning("", text);
}

std::string RunSaver::save(DirectSession& session, HookSet& hooks, const std::map<std::string, HookState>* states) {
  run_.check_lock();
  const std::int64_t start = environment_.clock.monotonic_ns();
  std::int64_t step = std::max<std::int64_t>(session.global_step(), 0);
  if (evaluated_ && !evaluated_->versions) evaluated_->versions = total_of_versions(session);
  try {
    hooks.before_save(session, step);
  } catch (const Error& e) {
    if (e.code() != Code::kSkip) throw;
    environment_.log.info("", "no checkpoint of step " + std::to_string(step) + ": " + e.what());
    return "";
  }
  // A hook that cannot give its state has failed as a hook; a checkpoint without it would restore a run that never was.
  const std::map<std::string, HookState>& now = states == nullptr ? hooks.save_states() : *states;
  try {
    now_current(write(session, now, step), step);
    save_error_.clear();
  } catch (const Error& e) {
    if (run_.lock_lost()) run_.check_lock();
    if (e.code() == Code::kDiverged || options_.checkpoint.on_save_error == OnSaveError::kStop) {
      save_error_ = e.what();
      throw;
    }
    save_error_ = e.what();
    environment_.log.error("", std::string("the checkpoint of step ") + std::to_string(step) +
                                   " was not written (on_save_error = \"continue\"): " + e.what());
    return "";
  }
  if (options_.events != nullptr) {
    options_.events->add_session_log(EventWriter::kCheckpoint, step, run_.path() + "/model.ckpt");
    options_.events->flush();
  }
  std::string stopping = hooks.after_save(session, step, saved_path_);
  series_.retain();
  warn_if_slower_than_grace(static_cast<double>(environment_.clock.monotonic_ns() - start) * 1e-9);
  return stopping;
}

std::string RunSaver::write(DirectSession& session, const std::map<std::string, HookState>& states,
                            std::int64_t& step) {
  session.store().snapshot(session.variables(), snapshot_);
  // Where another thread trains meanwhile (beside a supervisor) the snapshot may be of a later step.
  for (std::size_t i = 0; i < snapshot_.names.size(); ++i)
    if (snapshot_.names[i] == session.global_step_name()) step = *snapshot_.values[i].data<std::int64_t>();
  CheckpointContent content;
  for (std::size_t i = 0; i < snapshot_.names.size(); ++i)
    content.variables.push_back({snapshot_.names[i], snapshot_.values[i].view()});
  content.global_step = step;
  content.input_positions = snapshot_.positions;
  content.hook_states = states;
  content.fingerprint = options_.fingerprint;
  content.manifest = options_.manifest;
  content.graph_hash = session.graph().variables_digest();
  content.best = series_.best_with(step, value_of(session, step));
  std::string path = series_.save(content, options_.saver);
  environment_.log.info("", "saved " + escaped(path));
  say_if_best(step);
  return path;
}

}  // namespace belay::runtime
