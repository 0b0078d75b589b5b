// SPDX-License-Identifier: Apache-2.0
// What an instance can ask of its host: log, clocks, run directory, and the services that the other headers wrap. Every
// plugin class has host(). All calls here are for any thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "belay/detail/tables.h"

namespace belay {
inline namespace v0 {

enum class LogLevel : std::int32_t {
  kDebug = BELAY_LOG_DEBUG,
  kInfo = BELAY_LOG_INFO,
  kWarning = BELAY_LOG_WARNING,
  kError = BELAY_LOG_ERROR,
};

namespace detail {

// The services of one host, each copied once over stubs.
struct Services {
  belay_core_api core;
  belay_graph_api graph;
  belay_session_api session;
  belay_coordinator_api coordinator;
  belay_model_service model;
  belay_input_service input;
  belay_files_api files;
  belay_saver_service saver;
  belay_checkpoint_api checkpoint;
  belay_events_api events;
  belay_state_service state;
  belay_op_service op;
  belay_cluster_service cluster;
};

}  // namespace detail

enum class Mode : std::int32_t { kTrain = BELAY_MODE_TRAIN, kEval = BELAY_MODE_EVAL, kPredict = BELAY_MODE_PREDICT };

class Host {
 public:
  Host(const belay_host_api* api, belay_host* self) noexcept : self_(self) {
    const auto service = [&](std::string_view name) noexcept -> const void* {
      return api == nullptr || api->service == nullptr ? nullptr : api->service(self, detail::str(name));
    };
    using namespace detail;
    s_.core = adopt(static_cast<const belay_core_api*>(service("core")));
    s_.graph = adopt(static_cast<const belay_graph_api*>(service("graph")));
    s_.session = adopt(static_cast<const belay_session_api*>(service("session")));
    s_.coordinator = adopt(static_cast<const belay_coordinator_api*>(service("coordinator")));
    s_.model = adopt(static_cast<const belay_model_service*>(service("model")));
    s_.input = adopt(static_cast<const belay_input_service*>(service("input")));
    s_.files = adopt(static_cast<const belay_files_api*>(service("files")));
    s_.saver = adopt(static_cast<const belay_saver_service*>(service("saver")));
    s_.checkpoint = adopt(static_cast<const belay_checkpoint_api*>(service("checkpoint")));
    s_.events = adopt(static_cast<const belay_events_api*>(service("events")));
    s_.state = adopt(static_cast<const belay_state_service*>(service("state")));
    s_.op = adopt(static_cast<const belay_op_service*>(service("op")));
    s_.cluster = adopt(static_cast<const belay_cluster_service*>(service("cluster")));
  }
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  void log(LogLevel level, std::string_view text) const {
    s_.core.log(self_, static_cast<std::int32_t>(level), detail::str(text));
  }
  void info(std::string_view text) const { log(LogLevel::kInfo, text); }
  void warning(std::string_view text) const { log(LogLevel::kWarning, text); }
  void error(std::string_view text) const { log(LogLevel::kError, text); }
  bool log_enabled(LogLevel level) const { return s_.core.log_enabled(self_, static_cast<std::int32_t>(level)) != 0; }

  // Time since some fixed start, never going back.
  std::chrono::nanoseconds monotonic() const { return std::chrono::nanoseconds(s_.core.monotonic_ns(self_)); }
  // Seconds since 1970.
  double wall_seconds() const { return static_cast<double>(s_.core.wall_ns(self_)) * 1e-9; }
  std::string run_directory() const { return std::string(detail::view(s_.core.run_directory(self_))); }
  std::string instance_name() const { return std::string(detail::view(s_.core.instance_name(self_))); }
  std::uint64_t seed() const { return s_.core.seed(self_); }
  bool interactive() const { return s_.core.interactive(self_) != 0; }
  void status_line(std::string_view text) const { s_.core.status_line(self_, detail::str(text)); }
  // What this instance's session is for: a hook may be in the training's and another instance of it in an evaluation's.
  // Nothing where the instance belongs to no session.
  std::optional<Mode> mode() const {
    const std::int32_t mode = s_.core.mode(self_);
    return mode == 0 ? std::nullopt : std::optional<Mode>(static_cast<Mode>(mode));
  }
  // This process among those of the run: 0 of 1, unless it trains in several. The chief, rank 0, writes checkpoints.
  int rank() const { return s_.core.rank(self_); }
  int ranks() const { return s_.core.ranks(self_); }
  bool is_chief() const { return s_.core.is_chief(self_) != 0; }
  // True when there is no point in waiting any longer: the run was asked to stop, or the session that an input feeds.
  // For loops that wait in a constructor, in next, write or read; after it they throw Error(Code::kCancelled, ...).
  bool stopping() const { return s_.core.stopping(self_) != 0; }
  // Which start of the run in its directory this is: 1 for a new run, one more each time that it is gone on with. A
  // recovery is none.
  std::int64_t attempt() const { return s_.core.attempt(self_); }

  // While it lives, this thread may wait for a disk: round the writing of a file that the plugin opens by itself. The
  // run then waits for it, however long that takes, and does not end for want of progress (no_progress_secs). What goes
  // through the host (Directory, Events, Checkpoint), LinesFile, GrowingFile and replace_or_warn have it already.
  class DiskCall {
   public:
    explicit DiskCall(const Host& host) noexcept : host_(host) { host_.s_.core.waits_for_disk(host_.self_, 1); }
    ~DiskCall() { host_.s_.core.waits_for_disk(host_.self_, 0); }
    DiskCall(const DiskCall&) = delete;
    DiskCall& operator=(const DiskCall&) = delete;

   private:
    const Host& host_;
  };

  belay_host* raw() const noexcept { return self_; }
  const detail::Services& services() const noexcept { return s_; }

 private:
  belay_host* self_;
  detail::Services s_;
};

namespace detail {
// Set by the create thunk while a plugin's constructor runs, so that host() works there too.
inline thread_local Host* host_under_construction __attribute__((visibility("hidden"))) = nullptr;

class ConstructionScope {
 public:
  explicit ConstructionScope(Host* host) noexcept : before_(host_under_construction) { host_under_construction = host; }
  ~ConstructionScope() { host_under_construction = before_; }
  ConstructionScope(const ConstructionScope&) = delete;
  ConstructionScope& operator=(const ConstructionScope&) = delete;

 private:
  Host* before_;
};
}  // namespace detail

// The base of every plugin class.
class Plugin {
 public:
  Plugin() noexcept : host_(detail::host_under_construction) {}
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  // The instance's host; also inside the constructor, if the host creates the instance.
  Host& host() const {
    if (host_ == nullptr) fail(Code::kFailedPrecondition, "this plugin object has no host yet");
    return *host_;
  }
  void bind(Host* host) noexcept { host_ = host; }

 private:
  Host* host_;
};

}  // namespace v0
}  // namespace belay
