// SPDX-License-Identifier: Apache-2.0
// The requests of an instance to its host: log, clocks, run directory, place in the run. Every plugin class has host().
// The services that other headers wrap (Session, Events, Checkpoint) are also reached through it.
//
//   host().info("read " + std::to_string(n) + " rows");         // a line of the log, with the instance's name
//   const auto start = host().monotonic();
//   if (host().is_chief()) write_summary(host().run_directory());
//
// All calls here may be made on any thread while the instance lives, and none reports an error. Use these clocks in
// place of the system's: a test replaces clock and log.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "belay/detail/tables.h"

namespace belay {
inline namespace v0 {

// Severity of a line in the log. The user chooses the lowest level that the log shows.
enum class LogLevel : std::int32_t {
  kDebug = BELAY_LOG_DEBUG,      // details for a search of a fault
  kInfo = BELAY_LOG_INFO,        // normal progress
  kWarning = BELAY_LOG_WARNING,  // a problem that the run survives
  kError = BELAY_LOG_ERROR,      // a failure
};

namespace detail {

// The services of one host, each copied once over stubs. A missing service or slot fails with UNIMPLEMENTED.
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

// The purpose of a session: training, evaluation or prediction.
enum class Mode : std::int32_t { kTrain = BELAY_MODE_TRAIN, kEval = BELAY_MODE_EVAL, kPredict = BELAY_MODE_PREDICT };

// One instance's access to the host. The SDK makes it before the plugin object and keeps it until after the destructor.
class Host {
 public:
  // Copies the tables of all services once. `api` and `self` are those that create got; null: a host without services.
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
  // The host belongs to one instance and cannot be copied.
  Host(const Host&) = delete;
  Host& operator=(const Host&) = delete;

  // Writes one line, cut to 64 KiB, to the log. The host adds time and instance name, and escapes control characters.
  void log(LogLevel level, std::string_view text) const {
    s_.core.log(self_, static_cast<std::int32_t>(level), detail::str(text));
  }
  // Does the same with a fixed level.
  void info(std::string_view text) const { log(LogLevel::kInfo, text); }
  void warning(std::string_view text) const { log(LogLevel::kWarning, text); }
  void error(std::string_view text) const { log(LogLevel::kError, text); }
  // True if the log shows lines of this level. Ask before you compose an expensive line.
  bool log_enabled(LogLevel level) const { return s_.core.log_enabled(self_, static_cast<std::int32_t>(level)) != 0; }

  // Time since a fixed start; it never decreases. Use it to measure durations.
  std::chrono::nanoseconds monotonic() const { return std::chrono::nanoseconds(s_.core.monotonic_ns(self_)); }
  // Seconds since 1970 (Unix time). It may jump in either direction.
  double wall_seconds() const { return static_cast<double>(s_.core.wall_ns(self_)) * 1e-9; }
  // Absolute path of the run directory; empty if the run has none. Files of a plugin belong in it.
  std::string run_directory() const { return std::string(detail::view(s_.core.run_directory(self_))); }
  // The instance's name from the manifest, else the plugin's name. It is unique among its kind in the run.
  std::string instance_name() const { return std::string(detail::view(s_.core.instance_name(self_))); }
  // The run's seed ([run] seed), the same for all instances and ranks. Mix in a value that differs for each instance.
  std::uint64_t seed() const { return s_.core.seed(self_); }
  // True if the user watches a terminal with log lines of level kInfo.
  bool interactive() const { return s_.core.interactive(self_) != 0; }
  // Shows `text` in place on that terminal, cut to its width; an empty text removes it. The host redraws it at most ten
  // times a second. Without a terminal the call does nothing.
  void status_line(std::string_view text) const { s_.core.status_line(self_, detail::str(text)); }
  // The purpose of this instance's session. Two instances of one hook may belong to a training and to an evaluation.
  // Empty: the instance belongs to no session, such as a saver that several sessions share.
  std::optional<Mode> mode() const {
    const std::int32_t mode = s_.core.mode(self_);
    return mode == 0 ? std::nullopt : std::optional<Mode>(static_cast<Mode>(mode));
  }
  // The place of this process in the run: 0 <= rank() < ranks(). A run of one process has rank 0 and 1 rank. Only the
  // chief, rank 0, writes checkpoints and events.
  int rank() const { return s_.core.rank(self_); }
  int ranks() const { return s_.core.ranks(self_); }
  bool is_chief() const { return s_.core.is_chief(self_) != 0; }
  // True when the instance must not wait any longer: the run, or the session that an input feeds, stops. Ask in loops
  // that wait: in a constructor, in next, write or read. Then throw Error(Code::kCancelled, ...).
  bool stopping() const { return s_.core.stopping(self_) != 0; }
  // Number of this start of the run in its directory: 1 for a new run, one more for each later start. A recovery inside
  // the process is not a new start.
  std::int64_t attempt() const { return s_.core.attempt(self_); }

  // Marks disk work of this thread, from construction to destruction. Use it for each file that the plugin opens by
  // itself. The run then waits for the disk without limit: no_progress_secs does not end it. Directory, Events,
  // Checkpoint, LinesFile, GrowingFile and replace_or_warn already mark their work.
  //
  //   const belay::Host::DiskCall call(host());
  //   std::ofstream(path_) << line;
  class DiskCall {
   public:
    // `host` must outlive the object. The destructor must run on the same thread.
    explicit DiskCall(const Host& host) noexcept : host_(host) { host_.s_.core.waits_for_disk(host_.self_, 1); }
    ~DiskCall() { host_.s_.core.waits_for_disk(host_.self_, 0); }
    DiskCall(const DiskCall&) = delete;
    DiskCall& operator=(const DiskCall&) = delete;

   private:
    const Host& host_;
  };

  // Returns the handle and the tables as they cross the boundary, for headers of the SDK.
  belay_host* raw() const noexcept { return self_; }
  const detail::Services& services() const noexcept { return s_; }

 private:
  belay_host* self_;
  detail::Services s_;
};

namespace detail {
// The host of the plugin object under construction. The create thunk sets it, so host() also works in the constructor.
inline thread_local Host* host_under_construction __attribute__((visibility("hidden"))) = nullptr;

// Sets host_under_construction for its lifetime, and restores the previous value.
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

// The base of every plugin class. It holds the instance's host, and its objects cannot be copied.
class Plugin {
 public:
  // Takes the host of the create call that constructs this object, if there is one.
  Plugin() noexcept : host_(detail::host_under_construction) {}
  Plugin(const Plugin&) = delete;
  Plugin& operator=(const Plugin&) = delete;
  virtual ~Plugin() = default;

  // The instance's host, valid as long as the object. It also works in the constructor if the host creates the
  // instance. FAILED_PRECONDITION: a program made the object and has not bound a host yet.
  Host& host() const {
    if (host_ == nullptr) fail(Code::kFailedPrecondition, "this plugin object has no host yet");
    return *host_;
  }
  // Sets the host. belay::hook (module.h) calls it for an object of a program.
  void bind(Host* host) noexcept { host_ = host; }

 private:
  Host* host_;
};

}  // namespace v0
}  // namespace belay
