// SPDX-License-Identifier: Apache-2.0
#include "runtime/api/checkpoint_evaluator.h"

#include <condition_variable>
#include <mutex>
#include <set>
#include <utility>

#include "belay/global_step.h"
#include "belay/hook.h"
#include "runtime/estimator/estimator/estimator.h"
#include "runtime/platform/text/text.h"

namespace belay {

CheckpointEvaluator::CheckpointEvaluator(Estimator& estimator, CheckpointEvaluatorOptions options)
    : estimator_(estimator), options_(std::move(options)) {}

void CheckpointEvaluator::warn(const std::string& text) {
  constexpr std::int64_t kEveryNs = 600'000'000'000;
  const runtime::Platform& platform = estimator_.insides().platform();
  const std::int64_t now = platform.clock.monotonic_ns();
  if (warned_ns_ && now - *warned_ns_ < kEveryNs) return;
  warned_ns_ = now;
  platform.log.warning("", text);
}

EvalOutcome CheckpointEvaluator::evaluate(bool is_final) {
  const std::string path = estimator_.latest_checkpoint();
  if (path.empty()) {
    warn("nothing is evaluated: there is no checkpoint in " + runtime::escaped(estimator_.model_dir()));
    return {};
  }
  if (options_.once && path == last_.checkpoint_path) {
    warn("nothing is evaluated: there is no newer checkpoint than " + runtime::escaped(path));
    return {EvalStatus::kNoNewCheckpoint, path};
  }
  EvalMetrics metrics;
  try {
    metrics = estimator_.evaluate(
        options_.input,
        {.steps = options_.steps, .hooks = options_.hooks, .checkpoint_path = path, .name = options_.name});
  } catch (const Error&) {
    const runtime::Platform& platform = estimator_.insides().platform();
    if (platform.files.exists(path)) throw;
    platform.log.info("", runtime::escaped(path) + " was removed while it was read: it is skipped");
    return {};
  }
  warned_ns_.reset();
  last_ = {EvalStatus::kEvaluated, path, std::move(metrics)};
  export_last(is_final || reached());
  return last_;
}

void CheckpointEvaluator::export_last(bool is_final) {
  exported_.clear();
  final_exported_ = is_final;
  for (const auto& exporter : options_.exporters)
    exported_.push_back(
        exporter->export_model({estimator_, options_.input, estimator_.model_dir() + "/export/" + exporter->name(),
                                last_.checkpoint_path, last_.metrics, is_final}));
}

void CheckpointEvaluator::export_as_final() {
  if (last_.status == EvalStatus::kEvaluated && !final_exported_) export_last(true);
}

std::optional<std::int64_t> CheckpointEvaluator::last_step() const {
  const auto step = last_.metrics.find("global_step");
  if (step == last_.metrics.end()) return std::nullopt;
  return TensorView(step->second).scalar<std::int64_t>();
}

bool CheckpointEvaluator::reached() const {
  return options_.last_step && last_step().value_or(0) >= *options_.last_step;
}

void check_exporters(const ModelExporters& exporters) {
  std::set<std::string> names;
  for (const auto& exporter : exporters) {
    if (exporter == nullptr) fail(Code::kInvalidArgument, "[B5052] an exporter is null");
    if (exporter->name().empty()) fail(Code::kInvalidArgument, "[B5052] an exporter has no name");
    if (!names.insert(exporter->name()).second)
      fail(Code::kInvalidArgument,
           "[B5052] two exporters have the name " + runtime::double_quoted(exporter->name()) + "; each needs its own");
  }
}

void check_exporters(Estimator& estimator, const InputFn& input, const ModelExporters& exporters) {
  for (const auto& exporter : exporters) exporter->check(estimator, input);
}

// ---- the training's side

namespace {

class CheckpointListener final : public Hook {
 public:
  explicit CheckpointListener(CheckpointCalls calls) : calls_(std::move(calls)) {}

  void begin(Graph& graph) override { step_ = GlobalStep(graph); }
  void after_create_session(Session& session) override {
    if (std::exchange(began_, true)) return;  // a recovery
    const std::int64_t step = step_.read(session);
    if (calls_.restored && step > 0 && !calls_.restored(step)) session.coordinator().request_stop(kReason);
  }
  bool after_save(Session&, const Saved& saved) override { return calls_.saved && !calls_.saved(saved.step); }

 private:
  static constexpr const char* kReason = "the evaluation's listener asked to stop";
  const CheckpointCalls calls_;
  GlobalStep step_;
  bool began_ = false;
};

}  // namespace

OwnHook checkpoint_listener(const std::string& name, CheckpointCalls calls) {
  return own_hook(name, std::make_unique<CheckpointListener>(std::move(calls)));
}

void sleep_on(runtime::Clock& clock, double seconds) {
  if (seconds <= 0) return;
  std::mutex mutex;
  std::condition_variable never;
  const std::int64_t end = clock.monotonic_ns() + static_cast<std::int64_t>(seconds * 1e9);
  std::unique_lock lock(mutex);
  while (clock.monotonic_ns() < end) clock.wait_until(lock, never, end);
}

}  // namespace belay
