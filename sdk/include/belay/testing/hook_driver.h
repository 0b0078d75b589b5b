// SPDX-License-Identifier: Apache-2.0
// Drives a hook without an engine, in the words of training: a session begins, steps, saves, recovers, ends.
//
//   extern "C" const belay_module belay_module_loss_ceiling;               // linked in, or
//   open_module("loss_ceiling.so")
//
//   HookDriver hook(belay_module_loss_ceiling, {{"max", 2.0}});
//   hook.tensor<float>("loss");                                            // a tensor of the model
//   hook.begin();
//   hook.create_session();
//   EXPECT_FALSE(hook.step({{"loss", 1.5f}}).stop_asked);
//   EXPECT_EQ(hook.step({{"loss", 2.5f}}).stop_reason, "loss above max");
//   hook.end();
//
// Order: declare tensors, begin, create_session; then step, save and recover in any order; then end or error. The
// driver throws an exception of the hook unchanged, as belay::Error. A violation of the contract is
// FAILED_PRECONDITION. Examples are a fetch of a tensor without a value, a session kept too long, and a service called
// from the wrong thread.
//
// A step plays one training step: before_run, the run, after_run, and then the checkpoint that the hook asked for.
// Values of a step stay until another step changes them; raw runs see them too. The global step, if there is one,
// counts by itself. The run fetches its value before the step; raw runs in after_run read its value after it.
//
// The values of after_run are overwritten when it returns, so a view that the hook keeps shows nonsense. The options
// are freed after create, a session after the call that got it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/detail/given.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/fake_checkpoints.h"
#include "belay/testing/fake_events.h"
#include "belay/testing/fake_ranks.h"
#include "belay/testing/fake_session.h"
#include "belay/testing/fake_state.h"
#include "belay/testing/plugin_library.h"

namespace belay {
inline namespace v0 {
namespace testing {

// The effects of one step on the outside.
struct StepResult {
  std::vector<std::string> fetched;   // names, in the hook's order
  std::map<std::string, Tensor> fed;  // by name
  std::optional<RunOptions> options;  // empty: it asked for none
  bool stop_asked = false;            // in this step, after_save included
  std::string stop_reason;
  bool saved = false;               // it asked for a checkpoint
  std::vector<std::string> logged;  // lines of this step: "info: ..."
  std::uint64_t probed = 0;         // see HookDriver::probe_with
};

class HookDriver {
 public:
  using Values = std::vector<std::pair<std::string, Tensor>>;

  explicit HookDriver(const belay_module& module, const OptionValues& options = {}, const DriverSetup& setup = {})
      : HookDriver(find_table<belay_hook_api>(module, setup.plugin), options, setup) {}
  explicit HookDriver(const belay_hook_api* table, const OptionValues& options = {}, const DriverSetup& setup = {})
      : HookDriver(setup) {
    adopt(table);
    handle_ = options.create(host_, &api_);
    if (!handle_) fail(Code::kFailedPrecondition, "create succeeded but gave no instance");
  }
  // Drives a hook of the program itself: HookDriver hook(std::make_unique<MyHook>(x));
  template <class T>
  explicit HookDriver(std::unique_ptr<T> object, const DriverSetup& setup = {}) : HookDriver(setup) {
    handle_ = belay::hook(host_.api(), host_.raw(), std::move(object));
    adopt(handle_.table());
  }
  HookDriver(const HookDriver&) = delete;
  HookDriver& operator=(const HookDriver&) = delete;

  FakeHost& host() noexcept { return host_; }  // log, clock, run directory
  FakeGraph& graph() noexcept { return graph_; }
  FakeSession& session() noexcept { return session_; }  // variables, raw runs, coordinator
  FakeEvents& events() noexcept { return events_; }
  FakeRanks& ranks() noexcept { return ranks_; }  // host() has their number
  FakeCheckpoints& checkpoints() noexcept { return checkpoints_; }
  std::vector<std::string> logged() const { return host_.logged(); }

  // ---- the model and its training

  template <class T>
  Output tensor(std::string_view name, const Dims& dims = {}) {
    return graph_.tensor<T>(name, dims);
  }
  // Declares the global step.
  void global_step(std::int64_t value, std::string_view name = "global_step") {
    global_step_ = graph_.global_step(name).raw();
    set_global_step(value);
  }
  // Number of steps so far. Without a global step: number of runs so far.
  std::int64_t step_number() const noexcept { return step_; }
  void set_global_step(std::int64_t value) {
    step_ = value;
    if (!has_global_step()) return;
    session_.set_value(graph_.name_of(global_step_), step_);
    session_.set_global_step(step_);
  }
  // Number of steps of each later run; 0: training makes no progress.
  void steps_per_run(std::int64_t n) noexcept { steps_per_run_ = n; }
  // The caller's own fetches of each later run, by name.
  void caller_fetches(const std::vector<std::string>& names) {
    caller_fetches_.clear();
    for (const std::string& name : names) caller_fetches_.push_back(graph_.resolve(name));
  }
  // Duration of each later checkpoint, on the host's clock.
  void saving_takes(double seconds) noexcept { saving_seconds_ = seconds; }
  // Sets a probe that is called right before and after the hook's before_run and after_run. StepResult::probed is the
  // difference, for example of a count of allocations (allocations.h).
  void probe_with(std::function<std::uint64_t()> probe) { probe_ = std::move(probe); }

  // ---- the life of a hook

  void begin() {
    if (graph_.finalized()) fail(Code::kFailedPrecondition, "begin comes once; see begin_again");
    call("begin", [&](belay_status* status) { return api_.begin(self(), graph_.raw(), status); });
    graph_.finalize();
  }
  // Begins a second session on the same graph; the hook must add no more nodes.
  void begin_again() {
    require_begun("begin_again");
    const std::string before = graph_.text();
    graph_.reopen();
    call("begin", [&](belay_status* status) { return api_.begin(self(), graph_.raw(), status); });
    graph_.finalize();
    const std::string after = graph_.text();
    if (after != before)
      fail(Code::kFailedPrecondition, "the second begin changed the graph, from\n" + before + "to\n" + after);
  }
  // Creates the first session, and the checkpoint if the hook asks for one here.
  void create_session() {
    require_begun("create_session");
    start_session();
  }
  StepResult step(const Values& values = {}) {
    require_session("step");
    StepResult result;
    const std::size_t lines_before = host_.logged().size();
    const int saves_before = checkpoints_.save_requests();
    enter_run(values);
    FakeSession::Run& run = session_.open_run(caller_fetches_);
    {
      const RunCloser closer{run};
      const std::vector<belay_output> fetches = before_run(run, result);
      PassedValues& passed = pass_values(fetches);
      leave_run();
      after_run(run, passed, result);
      take_stop(run, result);
    }
    result.saved = checkpoints_.save_requests() > saves_before;
    if (result.saved && save() && !result.stop_asked) {
      result.stop_asked = true;
      result.stop_reason = kAfterSave;
    }
    const std::vector<std::string> lines = host_.logged();
    result.logged.assign(lines.begin() + static_cast<std::ptrdiff_t>(lines_before), lines.end());
    return result;
  }
  // Plays a step whose run fails: before_run is called and after_run is not. Continue with recover() or error().
  StepResult failed_step(const Values& values = {}) {
    require_session("failed_step");
    StepResult result;
    enter_run(values);
    FakeSession::Run& run = session_.open_run(caller_fetches_);
    const RunCloser closer{run};
    before_run(run, result);
    return result;
  }
  // Plays a checkpoint of the host: before_save, save_state, after_save. True: the hook asks the session to stop.
  // saves() does not contain a checkpoint that before_save skips.
  bool save() {
    require_session("save");
    const SessionHandle handle(session_);
    try {
      call("before_save", [&](belay_status* status) { return api_.before_save(self(), handle.raw(), step_, status); });
    } catch (const Error& e) {
      if (e.code() != Code::kSkip) throw;
      return false;
    }
    saved_state_ = save_state();
    saves_.push_back(step_);
    host_.clock.advance(saving_seconds_);
    auto saved = detail::sized<belay_saved>();
    const std::string path = "/checkpoints/model.ckpt-" + std::to_string(step_);
    saved.step = step_;
    saved.path = detail::str(path);
    call("after_save", [&](belay_status* status) { return api_.after_save(self(), handle.raw(), &saved, status); });
    detail::check_sized(saved);
    if (saved.stop != 0) note_stop(kAfterSave);
    return saved.stop != 0;
  }
  // The global steps of the checkpoints so far: those that the hook asked for and those of save().
  const std::vector<std::int64_t>& saves() const noexcept { return saves_; }
  // Plays a recovery after Aborted or Unavailable: a new session at the last checkpoint, or at the current step without
  // one.
  void recover() {
    require_session("recover");
    close_session();
    if (!saves_.empty()) {
      set_global_step(saves_.back());
      load_state(saved_state_);
    }
    start_session();
  }
  // Ends the session without an error: end, then the threads that the hook registered are joined.
  void end() {
    require_session("end");
    const int saves_before = checkpoints_.save_requests();
    {
      const SessionHandle handle(session_);
      call("end", [&](belay_status* status) { return api_.end(self(), handle.raw(), status); });
    }
    if (checkpoints_.save_requests() > saves_before) saves_.push_back(step_);
    close_session();
  }
  // Ends the session with an error.
  void error(const Error& error) {
    std::string message(error.message());
    call("on_error", [&](belay_status* status) {
      return api_.on_error(self(), static_cast<std::int32_t>(error.code()), detail::str(message), status);
    });
    std::fill(message.begin(), message.end(), '?');
    if (in_session_) close_session();
  }

  StoredState save_state() {
    FakeState state(host_);
    call("save_state", [&](belay_status* status) { return api_.save_state(self(), state.raw(), status); });
    return state.values();
  }
  // Loads a state, for a resumed run: call it before create_session of a new driver. `written_by`: the version that
  // saved the state.
  void load_state(const StoredState& values, const std::string& written_by = {}) {
    FakeState state(host_, values, written_by);
    call("load_state", [&](belay_status* status) { return api_.load_state(self(), state.raw(), status); });
  }
  // Destroys the hook. It must have released all that it took.
  void destroy() {
    handle_ = HookHandle();
    if (session_.open_results() != 0) fail(Code::kFailedPrecondition, "the hook did not release a raw run's result");
    if (checkpoints_.open_count() != 0) fail(Code::kFailedPrecondition, "the hook did not close a checkpoint");
  }

  // Tell if any callback so far has asked for a stop, and the first reason.
  bool stop_asked() const { return stop_asked_ || session_.coordinator().should_stop(); }
  std::string stop_reason() const { return stop_asked_ ? stop_reason_ : session_.coordinator().reason(); }

 private:
  explicit HookDriver(const DriverSetup& setup)
      : host_(setup.instance_name),
        graph_(host_),
        session_(host_, graph_),
        events_(host_),
        ranks_(host_),
        checkpoints_(host_) {
    FakeState::offer(host_);
    host_.run_directory = setup.run_directory;
    host_.interactive = setup.interactive;
    for (const std::string& service : setup.without) host_.remove_service(service);
  }

  static constexpr const char* kAfterSave = "after_save asked for it";

  // The values for after_run.
  struct PassedValues {
    static constexpr unsigned char kBehind = 0xa5;
    static constexpr std::size_t kBytesBehind = 256;
    std::vector<Tensor> tensors;
    std::vector<std::vector<unsigned char>> memory;  // of the numbers, with guard bytes after them
    std::vector<belay_tensor> views;
    void pass(Tensor value) {
      tensors.push_back(std::move(value));
      Tensor& t = tensors.back();
      memory.emplace_back();
      belay_tensor view = t.dtype() == DType::kInvalid ? belay_tensor{} : t.view();
      if (t.dtype() != DType::kInvalid && t.dtype() != DType::kString && view.bytes != 0) {
        std::vector<unsigned char>& bytes = memory.back();
        const auto* from = static_cast<const unsigned char*>(view.data);
        bytes.assign(from, from + view.bytes);
        bytes.insert(bytes.end(), kBytesBehind, kBehind);
        view.data = bytes.data();
      }
      view.flags |= BELAY_TENSOR_READ_ONLY;
      views.push_back(view);
    }
    // Checks that the hook has only read them.
    void check_untouched(const std::vector<std::string>& names) {
      for (std::size_t i = 0; i < memory.size(); ++i) {
        const std::vector<unsigned char>& bytes = memory[i];
        if (bytes.empty()) continue;
        const belay_tensor known = tensors[i].view();
        const std::size_t n = bytes.size() - kBytesBehind;
        const bool behind = std::any_of(bytes.begin() + static_cast<std::ptrdiff_t>(n), bytes.end(),
                                        [](unsigned char c) { return c != kBehind; });
        if (behind || std::memcmp(bytes.data(), known.data, n) != 0)
          fail(Code::kFailedPrecondition, "after_run wrote " + std::string(behind ? "past the end of" : "into") +
                                              " the value of '" + names[i] + "', which it may only read");
      }
    }
    void overwrite() {
      for (Tensor& t : tensors) poison(t);
      for (std::vector<unsigned char>& bytes : memory)
        std::fill(bytes.begin(), bytes.end(), static_cast<unsigned char>(0xff));
      std::fill(views.begin(), views.end(), belay_tensor{});
    }
  };
  struct RunCloser {
    FakeSession::Run& run;
    ~RunCloser() { FakeSession::close_run(run); }
  };
  class SessionHandle {
   public:
    explicit SessionHandle(FakeSession& session) : raw_(session.open_handle()) {}
    SessionHandle(const SessionHandle&) = delete;
    SessionHandle& operator=(const SessionHandle&) = delete;
    ~SessionHandle() { FakeSession::close_handle(raw_); }
    belay_session* raw() const noexcept { return raw_; }

   private:
    belay_session* raw_;
  };

  void adopt(const belay_hook_api* table) {
    if (table == nullptr) fail(Code::kInvalidArgument, "the plugin has no table");
    api_ = detail::adopt<detail::Absent::kSkip>(table);
  }
  void* self() const {
    if (!handle_) fail(Code::kFailedPrecondition, "the hook was destroyed");
    return handle_.self();
  }
  bool has_global_step() const noexcept { return global_step_.graph != 0; }
  void require_begun(const char* verb) const {
    if (!graph_.finalized()) fail(Code::kFailedPrecondition, std::string(verb) + " comes after begin");
  }
  void require_session(const char* verb) const {
    if (!in_session_) fail(Code::kFailedPrecondition, std::string(verb) + " comes after create_session");
  }

  template <class F>
  void call(const char* slot, F&& f) {
    const std::size_t breaches_before = host_.breaches().size();
    detail::Status status;
    status.check(f(status));
    const std::vector<std::string> breaches = host_.breaches();
    if (breaches.size() > breaches_before)
      fail(Code::kFailedPrecondition, std::string(slot) + ": " + breaches[breaches_before]);
  }
  std::uint64_t probe() const { return probe_ ? probe_() : 0; }

  void start_session() {
    in_session_ = true;
    const int saves_before = checkpoints_.save_requests();
    {
      const SessionHandle handle(session_);
      call("after_create_session",
           [&](belay_status* status) { return api_.after_create_session(self(), handle.raw(), status); });
    }
    if (checkpoints_.save_requests() > saves_before) save();
  }
  void close_session() {
    in_session_ = false;
    FakeCoordinator& coordinator = session_.coordinator();
    if (coordinator.should_stop()) note_stop(coordinator.reason());
    constexpr double kGraceSeconds = 10;
    const std::vector<std::string> running = coordinator.stop_and_join(kGraceSeconds);
    coordinator.clear_stop();
    if (!running.empty()) fail(Code::kFailedPrecondition, "the hook's thread '" + running[0] + "' did not end");
  }

  void enter_run(const Values& values) {
    for (const auto& [name, value] : values) {
      session_.set_value(name, value);
      const belay_output o = graph_.resolve(name);
      if (has_global_step() && o.node == global_step_.node) step_ = TensorView(value.view()).scalar<std::int64_t>();
    }
  }
  void leave_run() { set_global_step(step_ + steps_per_run_); }

  std::vector<belay_output> before_run(FakeSession::Run& run, StepResult& result) {
    auto args = detail::sized<belay_run_args>();
    call("before_run", [&](belay_status* status) {
      const std::uint64_t start = probe();
      const std::int32_t code = api_.before_run(self(), run.raw(), &args, status);
      result.probed += probe() - start;
      return code;
    });
    detail::check_sized(args);
    detail::check_list("fetches", args.fetches, args.n_fetches, "before_run returned ");
    detail::check_list("feeds", args.feeds, args.n_feeds, "before_run returned ");
    std::vector<belay_output> fetches(args.fetches, args.fetches + args.n_fetches);
    for (const belay_output& o : fetches) result.fetched.push_back(graph_.name_of(o));
    for (std::uint64_t i = 0; i < args.n_feeds; ++i) {
      detail::check_tensor(args.feeds[i].value);
      Tensor value{TensorView(args.feeds[i].value)};
      graph_.check_value(args.feeds[i].output, value);
      result.fed.insert_or_assign(graph_.name_of(args.feeds[i].output), std::move(value));
    }
    if (args.options != nullptr) result.options = detail::run_options(args.options);
    if (result.options && (result.options->trace_level < RunOptions::Trace::kNone ||
                           result.options->trace_level > RunOptions::Trace::kFull))
      fail(Code::kInvalidArgument,
           "before_run returned trace_level = " + std::to_string(static_cast<int>(result.options->trace_level)));
    run.traced = result.options && result.options->trace_level > RunOptions::Trace::kNone;
    return fetches;
  }
  PassedValues& pass_values(const std::vector<belay_output>& fetches) {
    constexpr std::size_t kKept = 16;  // steps whose overwritten values a late reader still finds
    if (passed_.size() == kKept) passed_.pop_front();
    PassedValues& passed = passed_.emplace_back();
    passed.tensors.reserve(fetches.size());  // views point into them
    for (const belay_output& o : fetches) passed.pass(session_.value(o));
    return passed;
  }
  void after_run(FakeSession::Run& run, PassedValues& passed, StepResult& result) {
    auto values = detail::sized<belay_run_values>();
    values.results = passed.views.data(), values.n_results = passed.views.size();
    const belay_run_options options = detail::raw_options(result.options.value_or(RunOptions()));
    if (result.options) values.options = &options;
    const auto overwrite = [&] { passed.overwrite(); };
    try {
      call("after_run", [&](belay_status* status) {
        const std::uint64_t start = probe();
        const std::int32_t code = api_.after_run(self(), run.raw(), &values, status);
        result.probed += probe() - start;
        return code;
      });
      passed.check_untouched(result.fetched);
    } catch (...) {
      overwrite();
      throw;
    }
    overwrite();
  }
  void take_stop(const FakeSession::Run& run, StepResult& result) {
    result.stop_asked = run.stop_asked;
    result.stop_reason = run.stop_reason;
    if (run.stop_asked) note_stop(run.stop_reason);
  }
  void note_stop(const std::string& reason) {
    if (stop_asked_) return;
    stop_asked_ = true;
    stop_reason_ = reason;
  }

  FakeHost host_;
  FakeGraph graph_;
  FakeSession session_;
  FakeEvents events_;
  FakeRanks ranks_;
  FakeCheckpoints checkpoints_;
  belay_hook_api api_{};
  HookHandle handle_;
  belay_output global_step_{0, 0, 0};
  std::int64_t step_ = 0;
  std::int64_t steps_per_run_ = 1;
  double saving_seconds_ = 0;
  std::vector<belay_output> caller_fetches_;
  std::function<std::uint64_t()> probe_;
  std::deque<PassedValues> passed_;
  std::vector<std::int64_t> saves_;
  StoredState saved_state_;
  bool in_session_ = false;
  bool stop_asked_ = false;
  std::string stop_reason_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
