// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/run_saver.h"

#include <fmt/core.h>

#include <algorithm>
#include <mutex>
#include <system_error>
#include <utility>

#include "belay/tensor_text.h"
#include "runtime/checkpoint/format/index.h"
#include "runtime/checkpoint/format/names.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/basename.h"
#include "runtime/platform/process/current_error.h"
#include "runtime/platform/process/resources.h"
#include "runtime/platform/process/spare_descriptors.h"
#include "runtime/platform/text/text.h"
#include "runtime/platform/threads/activity.h"

namespace belay::runtime {
namespace {

std::int64_t step_of(const DirectSession& session) { return std::max<std::int64_t>(session.global_step(), 0); }

// `before`: the list without this save. An entry that it has already was logged.
void say_if_best(Logger& log, std::int64_t step, const BestList& list, const BestList& before) {
  const BestCheckpoint* best = find_step(list, step);
  const BestCheckpoint* known = find_step(before, step);
  if (best == nullptr || (known != nullptr && *known == *best)) return;
  const auto place = best - list.checkpoints.data() + 1;
  log.info("",
           checkpoint_name(step, list.basename) + " is " +
               (place == 1 ? "the best checkpoint so far" : fmt::format("number {} of the best checkpoints", place)) +
               ": " + escaped(list.metric) + " = " + rounded_text(best->value));
}

std::uint64_t tensor_bytes_of(const std::map<std::string, HookState>& states) {
  std::uint64_t bytes = 0;
  for (const auto& [hook, state] : states)
    for (const auto& [key, value] : state.entries)
      if (const auto* tensor = std::get_if<StateTensor>(&value)) bytes += byte_size(*tensor);
  return bytes;
}

}  // namespace

std::vector<TensorInfo> variable_infos(const DirectSession& session) {
  std::vector<TensorInfo> infos;
  for (const Variable* v : session.variables()) infos.push_back({v->name, v->value.dtype(), v->value.dims()});
  return infos;
}

SaverUse saver_use(PluginInstance& codec) {
  SaverUse use{&codec.table<belay_saver_api>(), codec.self(), codec.plugin().info.name, codec.plugin().version};
  const auto one_at_a_time = std::make_shared<std::mutex>();
  use.write = [&codec, one_at_a_time](belay_dir* directory, belay_tensors* tensors) {
    const std::lock_guard lock(*one_at_a_time);
    codec.call_and_take(
        "write", &belay_saver_api::write, [&] { check_guards(tensors); }, directory, tensors);
  };
  use.read = [&codec, one_at_a_time](belay_dir* directory, belay_tensors* tensors) {
    const std::lock_guard lock(*one_at_a_time);
    codec.call_and_take(
        "read", &belay_saver_api::read, [&] { check_guards(tensors); }, directory, tensors);
  };
  return use;
}

RunSaver::RunSaver(const RunEnvironment& environment, LockedDirectory& run, RunSaverOptions options)
    : environment_(environment),
      run_(run),
      options_(std::move(options)),
      series_(environment.files, run, environment.clock, environment.log, options_.checkpoint) {
  check_basename(run_, options_.checkpoint.basename);
  series_.recover();
  best_ = series_.best();
}

// ---- the best ----

void RunSaver::note_evaluation(std::int64_t step, double value, StillEvaluated still_evaluated) {
  if (options_.checkpoint.keep_best == 0) return;
  evaluation_.note(step, value, std::move(still_evaluated));
  if (with_checkpoint(best_, {step, value}, best_rule(options_.checkpoint)) != best_) save_requested_by_hook();
}

// ---- saving ----

void RunSaver::prepare(const DirectSession& session) {
  hold_spare_descriptors();
  if (!saves_by_itself(options_.checkpoint)) return;
  check_index_holds(variable_infos(session));
  warnings_.say_if_disk_is_full(session, run_.path());
  if (options_.checkpoint.save == SaveMode::kAsync && save_ == nullptr) make_room(session.variables(), snapshot_);
}

RunSaver::Memory RunSaver::memory() const noexcept {
  Memory memory{.hooks = hook_bytes_};
  for (const DenseTensor& value : snapshot_.values) memory.copy += value.bytes();
  return memory;
}

std::string RunSaver::at_boundary(DirectSession& session, HookSet& hooks) {
  if (failures_.must_say()) failures_.say(saved_step_, step_of(session));
  if (!has_to_save()) return "";
  const Doing doing(Activity::kSaving);
  if (run_.lock_lost()) run_.check_lock();
  const bool asked = requested_.exchange(false);
  if (asked && save_ != nullptr && !written_) warnings_.say_that_it_waits(step_of(session), save_->step);
  std::string stopping = wait_and_tell(session, hooks);
  const auto also = [&](const std::string& hook) { stopping = stopping.empty() ? hook : stopping; };
  if (asked && !must_wait()) also(save(session, hooks, nullptr));
  if (must_wait()) also(wait_until_saved(session, hooks));
  return stopping;
}

std::string RunSaver::wait_and_tell(DirectSession& session, HookSet& hooks) {
  if (save_ == nullptr) return "";
  thread_.wait();
  return tell(session, hooks);
}

std::string RunSaver::finish(DirectSession& session, HookSet& hooks) {
  const Doing doing(Activity::kSaving);
  std::string stopping = wait_and_tell(session, hooks);
  thread_.wait();
  return stopping;
}

void RunSaver::begin_end(DirectSession& session, HookSet& hooks) {
  const Doing doing(Activity::kSaving);
  run_.check_lock();
  diverged_.reset();
  put_off_divergence([&] { return wait_and_tell(session, hooks); });
  ending_ = std::make_unique<Ending>(Ending{&session, &hooks, hooks.save_states(), {}});
  // A request that no boundary has served yet, such as a signal's, is served now.
  if (requested_.exchange(false)) save_while_ending();
}

void RunSaver::note_while_ending(const std::string& hook, const std::string& key, std::int64_t value) {
  if (ending_ != nullptr) ending_->states[hook].entries[key] = value;
}

void RunSaver::settle() noexcept {
  const Doing doing(Activity::kSaving);
  thread_.wait();
  if (save_ == nullptr) return;
  written_ = false;
  const std::unique_ptr<Save> save = std::move(save_);
  best_ = series_.best();
  try {
    if (!save->error) return note_written(*save);
    failures_.note_last(save->step, *save->error);
  } catch (const std::exception& e) {
    environment_.log.error("", e.what());
  }
}

void RunSaver::save_after_error(DirectSession& session, HookSet& hooks) noexcept {
  const Doing doing(Activity::kSaving);
  settle();
  Save save{.step = step_of(session), .begun_ns = environment_.clock.monotonic_ns()};
  if (save.step == saved_step_) return;
  try {
    save_at_once(session, ending_ == nullptr ? hooks.save_states() : ending_->states, save);
  } catch (...) {
    environment_.log.warning("", "what was trained since the last checkpoint is not saved (save_on_exception): " +
                                     std::string(current_error().what()));
  }
}

// The hooks learn of a written checkpoint when their thread returns.
void RunSaver::save_beside(DirectSession& session, HookSet& hooks, const PluginInstance& busy) noexcept {
  thread_.wait();
  Save save{.step = step_of(session), .begun_ns = environment_.clock.monotonic_ns()};
  if (save.step == taken_step()) return;
  try {
    save_at_once(session, hooks.save_states(&busy), save);
  } catch (...) {
    environment_.log.warning("", "what was trained since the last checkpoint cannot be saved beside " + busy.label() +
                                     ": " + std::string(current_error().what()));
  }
}

void RunSaver::save_at_once(DirectSession& session, const std::map<std::string, HookState>& states, Save& save) {
  run_.check_lock();
  take(session, states, save);
  write(save);
  if (save.error) throw Error(*save.error);
  note_written(save);
  series_.retain();
}

void RunSaver::save_requested_by_hook() {
  if (ending_ == nullptr) {
    request();
  } else {
    save_while_ending();
  }
}

template <class F>
void RunSaver::put_off_divergence(F&& f) {
  try {
    f();
  } catch (const Error& e) {
    if (e.code() != Code::kDiverged) throw;
    diverged_ = e;
  }
}

void RunSaver::save_while_ending() {
  const Doing doing(Activity::kSaving);
  // Two hooks that save at the end write one checkpoint.
  const std::uint64_t versions = total_of_versions(*ending_->session);
  if (ending_->asked_at == versions) return;
  ending_->asked_at = versions;
  put_off_divergence([&] { return save(*ending_->session, *ending_->hooks, &ending_->states); });
}

std::string RunSaver::save(DirectSession& session, HookSet& hooks, const std::map<std::string, HookState>* states) {
  if (!in_background()) thread_.wait();  // it may be removing older checkpoints
  run_.check_lock();
  const std::int64_t start = environment_.clock.monotonic_ns();
  const std::int64_t step = step_of(session);
  evaluation_.note_save(session);
  try {
    hooks.before_save(session, step);
  } catch (const Error& e) {
    if (e.code() != Code::kSkip) throw;
    environment_.log.info("", fmt::format("no checkpoint of step {}: {}", step, e.what()));
    return "";
  }
  // If a hook fails to save its state, it has failed as a hook. A checkpoint without it would restore a run that never
  // existed.
  const std::map<std::string, HookState>& now = states == nullptr ? hooks.save_states() : *states;
  save_ = std::make_unique<Save>(Save{.step = step, .begun_ns = start});
  return begin_write(session, now) ? "" : tell(session, hooks);
}

// Returns true if the thread writes save_ from now on. Otherwise the save is finished, and the reason that stopped it
// is its error. The hooks are called outside of the try, since their errors are not the save's.
bool RunSaver::begin_write(DirectSession& session, const std::map<std::string, HookState>& states) {
  try {
    take(session, states, *save_);
    save_->again = save_->step == saved_step_ && written_versions_ == save_->versions;
    if (is_as_restored(session)) return false;
    restored_.reset();
    if (in_background()) {
      thread_.start([this] {
        write(*save_);
        written_ = true;
      });
      return true;
    }
    write(*save_);
  } catch (const std::system_error& e) {
    const std::string why = resource_shortage(e);
    save_->error =
        Error(Code::kResourceExhausted, "there can be no thread to write it: " + (why.empty() ? e.what() : why));
  } catch (const Error& e) {
    save_->error = e;
  }
  return false;
}

// Returns true if the restored checkpoint holds all of it. Nothing is then written.
bool RunSaver::is_as_restored(DirectSession& session) {
  if (!restored_ || !restored_->holds(save_->content, options_.saver.name, total_of_versions(session))) return false;
  save_->was_there = true;
  save_->path = restored_->path();
  save_->content = {};
  environment_.log.log(LogLevel::kDebug, "", escaped(save_->path) + " holds this state: nothing is written");
  return true;
}

// Takes the state of the saved moment.
void RunSaver::take(DirectSession& session, const std::map<std::string, HookState>& states, Save& save) {
  session.store().snapshot(session.variables(), snapshot_);
  // If another thread trains meanwhile (beside a supervisor), the snapshot may be of a later step.
  for (std::size_t i = 0; i < snapshot_.names.size(); ++i)
    if (snapshot_.names[i] == session.global_step_name()) save.step = *snapshot_.values[i].data<std::int64_t>();
  CheckpointContent& content = save.content;
  for (std::size_t i = 0; i < snapshot_.names.size(); ++i)
    content.variables.push_back({snapshot_.names[i], snapshot_.values[i].view(), true});
  content.global_step = save.step;
  content.input_positions = snapshot_.positions;
  content.hook_states = states;
  hook_bytes_ = tensor_bytes_of(states);
  content.fingerprint = options_.fingerprint;
  content.manifest = options_.manifest;
  content.schema = options_.schema;
  content.graph_hash = session.graph().variables_digest();
  save.versions = total_of_versions(session);
  content.best = best_ = series_.best_with(save.step, evaluation_.value_of(session, save.step));
}

// The thread's work. It uses nothing of the session, and only those members that no other thread touches meanwhile.
void RunSaver::write(Save& save) {
  if (options_.monitor != nullptr) options_.monitor->step.store(save.step);
  try {
    const BestList before = series_.best();
    save.path = series_.save(save.content, options_.saver);
    // A checkpoint that is due in any case also has its evaluation if its step is one of the best.
    environment_.log.log(save.again ? LogLevel::kDebug : LogLevel::kInfo, "",
                         "saved " + escaped(save.path) + (save.again ? " again" : ""));
    say_if_best(environment_.log, save.step, series_.best(), before);
    if (options_.on_saved) options_.on_saved(save.path, save.step);
  } catch (...) {
    save.error = current_error();
  }
  save.content = {};  // the hooks own the memory of their tensors again
  save.seconds = static_cast<double>(environment_.clock.monotonic_ns() - save.begun_ns) * 1e-9;
  if (!save.error)
    warnings_.say_if_slower_than_grace(save.seconds, options_.signal_grace_secs,
                                       options_.checkpoint.save == SaveMode::kAsync);
}

std::string RunSaver::tell(DirectSession& session, HookSet& hooks) {
  written_ = false;
  const std::unique_ptr<Save> save = std::move(save_);
  best_ = series_.best();
  if (save->error) {
    if (run_.lock_lost()) run_.check_lock();
    failures_.note(save->step, save->begun_ns, *save->error);
    return "";
  }
  note_written(*save);
  std::string stopping = hooks.after_save(session, save->step, save->path);
  retain();
  return stopping;
}

void RunSaver::note_written(const Save& save) {
  saved_path_ = save.path;
  saved_step_ = save.step;
  written_versions_ = save.versions;
  failures_.note_written();
  if (options_.events == nullptr || save.was_there || save.again) return;
  options_.events->add_session_log(EventWriter::kCheckpoint, save.step,
                                   run_.path() + "/" + options_.checkpoint.basename);
  options_.events->start_flush();
}

// ---- waiting for a disk that can be written ----

// Nothing is trained meanwhile, so each attempt saves the same step.
std::string RunSaver::wait_until_saved(DirectSession& session, HookSet& hooks) {
  constexpr double kFirstWaitSecs = 1, kMostWaitSecs = 60;
  environment_.log.warning("",
                           "the training waits until a checkpoint can be written (on_save_error = \"pause\"); it "
                           "is tried again and again, at last every 60 s");
  std::string stopping;
  for (double seconds = kFirstWaitSecs; must_wait(); seconds = std::min(2 * seconds, kMostWaitSecs)) {
    if (!failures_.wait(seconds, run_.path())) {
      request();  // the end tries once more
      return "";
    }
    const std::int64_t failed = failures_.count();
    stopping = save(session, hooks, nullptr);
    if (save_ != nullptr) stopping = wait_and_tell(session, hooks);
    if (failures_.count() == failed) break;  // a hook wants no checkpoint of this step
  }
  environment_.log.info("", "the training continues");
  return stopping;
}

// The removal of a large checkpoint takes as long as many steps.
void RunSaver::retain() {
  if (in_background()) {
    thread_.start([this] { series_.retain(); });
  } else {
    series_.retain();
  }
}

}  // namespace belay::runtime
