// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/session_manager.h"

#include <fmt/core.h>

#include <algorithm>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "runtime/monitored/saving/run_saver.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// While it lives, an interrupt of the environment ends the runs of a session that is being made. No other object has
// this session yet. An interrupt does not end a run of a finished session.
class InterruptsRuns {
 public:
  InterruptsRuns(const RunEnvironment& environment, DirectSession& session)
      : session_(session), thread_([this, &environment] { watch(environment); }) {}
  ~InterruptsRuns() {
    {
      const std::lock_guard lock(shared().mutex);
      done_ = true;
    }
    shared().changed.notify_all();
    thread_.join();
    if (interrupted_) session_.resume();
  }
  InterruptsRuns(const InterruptsRuns&) = delete;
  InterruptsRuns& operator=(const InterruptsRuns&) = delete;

 private:
  // One for all objects, never destroyed: an interrupt may come while an object ends.
  struct Shared {
    std::mutex mutex;
    std::condition_variable changed;
  };
  static Shared& shared() {
    static Shared& for_good = *new Shared();
    return for_good;
  }

  void watch(const RunEnvironment& environment) {
    std::unique_lock lock(shared().mutex);
    try {
      CancelToken(environment.interrupt, environment.clock).wait(lock, shared().changed, [&] { return done_; });
    } catch (const Error& e) {
      interrupted_ = true;
      session_.interrupt(e);
    }
  }

  DirectSession& session_;
  bool done_ = false;
  bool interrupted_ = false;  // read when the thread has ended
  std::thread thread_;
};

}  // namespace

SessionManager::SessionManager(NodeGraph& graph, const RunEnvironment& environment, SessionManagerOptions options)
    : graph_(graph), environment_(environment), options_(std::move(options)) {
  if (options_.ready_for_local_init_op && !options_.local_init_op)
    fail(Code::kInvalidArgument, "[B5088] ready_for_local_init_op is given without a local_init_op");
  if (options_.pause == nullptr) options_.pause = &own_pause_;
}

std::shared_ptr<DirectSession> SessionManager::open(const std::string& target) {
  DirectSessionOptions options = environment_.session;
  options.clock = &environment_.clock;
  return std::make_shared<DirectSession>(graph_, environment_.targets.open(target), options);
}

void SessionManager::run(DirectSession& session, const Output& op, const Feeds& feeds) {
  std::vector<belay_feed> raw;
  for (const auto& [output, tensor] : feeds) raw.push_back({output.raw(), tensor.view()});
  session.run_once({graph_.resolve(op.raw())}, raw);
}

void check_one_source(const PrepareArgs& args) {
  if (!args.checkpoint_dir.empty() && !args.checkpoint_filename_with_path.empty())
    fail(Code::kInvalidArgument, "[B5088] Can not provide both checkpoint_dir ('" + escaped(args.checkpoint_dir) +
                                     "') and checkpoint_filename_with_path ('" +
                                     escaped(args.checkpoint_filename_with_path) + "')");
}

std::optional<RestoredRun> SessionManager::restore(DirectSession& session, const PrepareArgs& args) {
  check_one_source(args);
  if (args.saver == nullptr && args.codec.table != nullptr && !args.checkpoint_filename_with_path.empty())
    return restore_exactly(environment_, session, args.codec, args.checkpoint_filename_with_path);
  if (args.saver == nullptr) return std::nullopt;
  if (!args.checkpoint_filename_with_path.empty())
    return args.saver->restore_exactly(session, args.checkpoint_filename_with_path);
  if (args.checkpoint_dir.empty()) return std::nullopt;
  double waited = 0;
  for (;;) {
    std::optional<RestoredRun> restored = args.saver->restore_latest(session, args.checkpoint_dir);
    if (restored || !args.wait_for_checkpoint || waited >= args.max_wait_secs) return restored;
    environment_.log.info("", "waiting for a checkpoint in " + args.checkpoint_dir);
    options_.pause->wait(environment_, options_.recovery_wait_secs);
    waited += options_.recovery_wait_secs;
  }
}

std::string SessionManager::not_ready(DirectSession& session, const Output& op, const char* what) {
  if (!op) return "";
  try {
    const RunResult result = session.handle().run({op});
    const TensorView t = result[0];
    if (!t.has_value() || t.dtype() != DType::kString || t.size() == 0) return "";
    std::vector<std::string> names;
    for (std::size_t i = 0; i < t.size(); ++i) names.emplace_back(t.text(i));
    return std::string("Variables not initialized (") + what + "): " + joined(names);
  } catch (const Error& e) {
    if (e.code() == Code::kFailedPrecondition &&
        std::string_view(e.what()).find("uninitialized") != std::string_view::npos)
      return take_code(e.what()).text;
    throw;
  }
}

bool SessionManager::try_local_init(DirectSession& session, std::string& why) {
  if (!options_.local_init_op) return true;
  why = not_ready(session, options_.ready_for_local_init_op, "for local init");
  if (!why.empty()) return false;
  run(session, options_.local_init_op, options_.local_init_feeds);
  return true;
}

void SessionManager::initialize(DirectSession& session, const PrepareArgs& args) {
  if (!args.init_op && !args.init_fn && !options_.local_init_op)
    fail(Code::kFailedPrecondition,
         "[B5073] Model is not initialized and no init_op or init_fn or local_init_op was given");
  const GivenValues values(session, args.initial_values);
  if (args.init_op) run(session, args.init_op, args.init_feeds);
  values.set(session);
  if (args.init_fn) args.init_fn(session);
}

CreatedSession SessionManager::prepare_session(const PrepareArgs& args) {
  CreatedSession created{open(args.target), {}};
  DirectSession& session = *created.session;
  const InterruptsRuns interrupts(environment_, session);
  created.restored = restore(session, args);
  if (!created.restored) {
    initialize(session, args);
  } else if (args.init_fn) {
    environment_.log.info("",
                          "no init function runs: the variables are those of " + single_quoted(created.restored->path));
  }
  std::string why;
  if (!try_local_init(session, why))
    fail(Code::kFailedPrecondition, "[B5073] Init operations did not make model ready for local_init. " + why);
  why = not_ready(session, options_.ready_op, "of the model");
  if (!why.empty()) fail(Code::kFailedPrecondition, "[B5073] Init operations did not make model ready. " + why);
  return created;
}

SessionManager::Recovered SessionManager::recover_session(const PrepareArgs& args) {
  Recovered out;
  out.created.session = open(args.target);
  const InterruptsRuns interrupts(environment_, *out.created.session);
  out.created.restored = restore(*out.created.session, args);
  std::string why;
  const bool local = try_local_init(*out.created.session, why);
  if (!out.created.restored) return out;
  if (!local) {
    environment_.log.info("", "restored, but not ready for local init: " + why);
    return out;
  }
  why = not_ready(*out.created.session, options_.ready_op, "of the model");
  if (!why.empty()) {
    environment_.log.info("", "restored, but not ready: " + why);
    return out;
  }
  out.ready = true;
  return out;
}

CreatedSession SessionManager::wait_for_session(const std::string& target, double max_wait_secs) {
  const std::int64_t start = environment_.clock.monotonic_ns();
  const double longest = options_.recovery_wait_secs;
  double wait = options_.first_wait_secs > 0 ? std::min(options_.first_wait_secs, longest) : longest;
  for (;;) {
    std::string why;
    {
      CreatedSession created{open(target), {}};
      const InterruptsRuns interrupts(environment_, *created.session);
      if (try_local_init(*created.session, why)) {
        why = not_ready(*created.session, options_.ready_op, "of the model");
        if (why.empty()) return created;
      }
      created.session->close();
    }
    // It counts whole nanoseconds, so an exact fit still fits.
    const std::int64_t left =
        static_cast<std::int64_t>(max_wait_secs * 1e9) - (environment_.clock.monotonic_ns() - start);
    if (left < static_cast<std::int64_t>(wait * 1e9))
      fail(Code::kDeadlineExceeded, fmt::format("[B5073] Session was not ready after waiting {} secs. {}",
                                                static_cast<std::int64_t>(max_wait_secs), why));
    environment_.log.info("", "waiting for the model to be ready. " + why);
    options_.pause->wait(environment_, wait);
    wait = std::min(wait * 2, longest);
  }
}

}  // namespace belay::runtime
