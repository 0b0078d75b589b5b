// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/run_host.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>

#include "runtime/checkpoint/format/names.h"
#include "runtime/cluster/ranks_service.h"
#include "runtime/data/make_queue.h"
#include "runtime/loader/file/cpu_features.h"
#include "runtime/monitored/services/host_services.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/platform/threads/spinning.h"

namespace belay::runtime {

Platform platform_or_system(Clock* clock, Logger* log, FileSystem* files, std::unique_ptr<Logger>& own_log) {
  Clock& used = clock != nullptr ? *clock : system_clock();
  if (log == nullptr) own_log = make_stderr_logger(LogFormat::kText, LogLevel::kInfo, used);
  return {used, log != nullptr ? *log : *own_log, files != nullptr ? *files : posix_file_system()};
}

RunHost::RunHost(const Platform& platform, RunControl& control, RunHostOptions options,
                 std::shared_ptr<StoreTargets> targets)
    : options_(std::move(options)),
      events_dir_(options_.events_dir.empty() ? options_.dir : options_.events_dir),
      control_(control),
      targets_(targets != nullptr ? std::move(targets) : std::make_shared<StoreTargets>()),
      files_(watched_files(platform.files, control.disk())),
      environment_{platform.clock,
                   platform.log,
                   *files_,
                   *targets_,
                   control.interrupt(),
                   DirectSessionOptions{{options_.threads == 0 ? available_threads() : options_.threads, options_.seed,
                                         options_.session.precision},
                                        make_queue,
                                        &platform.clock}},
      services_(platform.log, platform.clock, options_.dir.empty() ? events_dir_ : options_.dir, options_.seed),
      monitors_(2) {
  add_session_services(services_);
  services_.add("cluster", ranks_service());
  services_.set_attempt(&attempt_);
  services_.set_place(options_.place);
  set_contexts(services_, false);
  set_events(nullptr);
}

RunHost::~RunHost() = default;

// ---- the directory ----

void RunHost::take_directory() {
  if (options_.dir.empty()) return;
  directory_ = RunDirectory::open(*files_, options_.dir, clock(), log());
  if (!options_.starts_over) attempt_ = attempts_before() + 1;
  if (options_.marks_attempt) mark_ = directory_->mark_attempt(clock(), log());
  for (std::size_t i = 0; i < monitors_.size(); ++i) mark_monitor(i);
}

// A run from before attempts were counted has a state file and no count.
std::int64_t RunHost::attempts_before() {
  const OpenDirectory& run = directory();
  if (!run.exists(kAttemptsName)) return run.exists(kStateFileName) ? 1 : 0;
  constexpr std::uint64_t kMostBytes = 64;
  const std::string text = run.read(kAttemptsName, kMostBytes);
  std::int64_t count = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  if (error == std::errc() && count > 0 && std::string_view(end, text.data() + text.size()) == "\n") return count;
  log().warning("", "the file '" + std::string(kAttemptsName) +
                        "' of the run directory holds no number: attempts are counted anew");
  return 0;
}

void RunHost::keep_directory() {
  if (!directory_) return;
  directory_->keep();
  had_finished_ = directory().exists(kFinishedName);
  if (had_finished_) directory().remove(kFinishedName);
  try {
    directory().replace(kAttemptsName, fmt::format("{}\n", attempt_));
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    log().warning("", std::string("this attempt is not counted: ") + e.what());
  }
}

void RunHost::note_finished(std::int64_t step) {
  if (!directory_) return;
  try {
    directory().replace(kFinishedName, fmt::format("at step {}\n", step));
  } catch (const RunInUse&) {
    throw;
  } catch (const Error& e) {
    log().warning("", std::string("an evaluator in another process cannot see that this run has ended: ") + e.what());
  }
}

// ---- the calls of plugins ----

void RunHost::mark_monitor(std::size_t i) {
  if (mark_ != nullptr && i < AttemptMark::kPlaces) monitors_[i].place = mark_->place(i);
}

CallMonitor& RunHost::add_monitor() {
  monitors_.emplace_back();
  mark_monitor(monitors_.size() - 1);
  return monitors_.back();
}

std::vector<const CallMonitor*> RunHost::monitors() const {
  std::vector<const CallMonitor*> all;
  for (const CallMonitor& m : monitors_) all.push_back(&m);
  return all;
}

// ---- saving ----

void RunHost::use_codec(const SaverUse& codec) {
  codec_ = codec;
  set_contexts(services_, false);
}

void RunHost::use_other_savers(OtherSavers savers) {
  other_savers_ = std::move(savers);
  set_contexts(services_, false);
}

void RunHost::open_saver(const Fingerprint& fingerprint, EventWriter* events, std::string manifest) {
  RunSaverOptions saving;
  saving.saver = codec_;
  saving.checkpoint = options_.checkpoint;
  saving.fingerprint = fingerprint;
  saving.manifest = std::move(manifest);
  saving.schema = schema_;
  if (!schema_.empty()) directory().replace(kSchemaName, schema_);
  saving.events = events;
  saving.monitor = &saver_monitor();
  saving.signal_grace_secs = options_.session.signal_grace_secs;
  saving.on_saved = [this](const std::string& path, std::int64_t step) { control_.note_saved(path, step); };
  saver_ = std::make_shared<RunSaver>(environment_, directory(), std::move(saving));
}

void RunHost::set_contexts(HostServices& services, bool saves) {
  services.set_context(&environment_);
  services.set_stopping([this] { return control_.stopping(); });
  services.set_disk(&control_.disk());
  if (codec_.table != nullptr) services.set_context(&codec_);
  if (other_savers_.find) services.set_context(&other_savers_);
  if (saves) services.set_context(saver_.get());
}

// ---- the system ----

void check_system(const RunHost& run) {
  const int threads = run.environment().session.threads;
  const std::string reason = why_not(run.options().session.precision, CpuFeatures());
  if (!reason.empty())
    fail(Code::kFailedPrecondition, fmt::format("[B5044] {}; leave session.precision as it is", reason));
  const std::string no_team = why_no_team(threads);
  if (!no_team.empty())
    fail(Code::kFailedPrecondition, fmt::format("[B5045] {}; unset it, or set the session's threads", no_team));
  const std::string warning = spinning_warning(threads);
  if (!warning.empty()) run.log().warning("", warning);
}

}  // namespace belay::runtime
