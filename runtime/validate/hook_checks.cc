// SPDX-License-Identifier: Apache-2.0
// A hook's life in a synthetic training, its state, and what it does when things go wrong.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"
#include "runtime/validate/check.h"
#include "runtime/validate/process_state.h"

namespace belay::runtime {
namespace {

using belay::testing::DriverSetup;
using belay::testing::HookDriver;
using belay::testing::StoredState;
using belay::testing::StoredValue;
using belay::testing::TemporaryFolder;

constexpr const char* kSynthetic =
    "the synthetic model (loss, accuracy, learning_rate, global_step, dense/kernel, dense/bias)";

// Of an output that the plugin added: a half in each element.
Tensor some_value(const Output& output) {
  Dims dims = output.dims();
  for (std::int64_t& d : dims)
    if (d < 0) d = 1;
  Tensor value(output.dtype(), dims);
  if (output.dtype() == DType::kFloat32) std::fill_n(value.data<float>(), value.size(), 0.5f);
  if (output.dtype() == DType::kFloat64) std::fill_n(value.data<double>(), value.size(), 0.5);
  return value;
}

// A hook in a synthetic training: the usual names, variables with gradients, values that fall and waver.
class Training {
 public:
  explicit Training(const Subject& subject, const std::vector<std::string>& without = {},
                    std::shared_ptr<const TemporaryFolder> folder = std::make_shared<const TemporaryFolder>())
      : folder_(std::move(folder)), random_(subject.seed) {
    DriverSetup setup = setup_of(subject);
    setup.run_directory = folder_->path();
    setup.without = without;
    hook_ = std::make_unique<HookDriver>(subject.module, subject.options(), setup);
    hook_->host().clock.jump_over_waits();  // nothing else moves it
    for (const char* name : {"loss", "accuracy"}) {
      hook_->tensor<float>(name);
      hook_->session().set_value(name, Tensor(1.f));
    }
    for (const char* name : {"learning_rate", "learning_rate_scale"}) {
      hook_->tensor<float>(name);
      hook_->session().variable(name, Tensor(1.f), false);
      hook_->session().set_value(name, Tensor(1.f));
    }
    add_variable("dense/kernel", {2, 3});
    add_variable("dense/bias", {3});
    for (const char* reduction : {"GlobalNorm", "L2Loss", "Sum", "Mean", "Max", "Min", "Prod"})
      hook_->graph().op(reduction, DType::kFloat32, Dims{});
    hook_->graph().operation("train_op");
    hook_->graph().role("train_op", "train_op");
    hook_->graph().tensor("merged_summaries", DType::kString, Dims{});
    hook_->graph().collect("summary_op", "merged_summaries");
    hook_->global_step(0);
    add_best_checkpoint();
  }

  HookDriver& hook() { return *hook_; }
  // The run directory, for another attempt of the same run.
  const std::shared_ptr<const TemporaryFolder>& folder() const { return folder_; }
  void begin() {
    needs("begin", kSynthetic, [&] { hook_->begin(); });
    hook_->session().set_value("merged_summaries", Tensor(std::string_view()));
    for (const Output& output : hook_->graph().outputs())
      if (!hook_->session().has_value(output.raw()))
        hook_->session().set_value(hook_->graph().name_of(output.raw()), some_value(output));
  }
  void start() {
    begin();
    must_succeed("after_create_session", [&] { hook_->create_session(); });
  }
  HookDriver::Values values(float loss) {
    ++steps_;
    hook_->host().clock.advance(0.7);
    const float t = static_cast<float>(steps_);
    return {{"loss", Tensor(loss)},
            {"accuracy", Tensor(1 - std::exp(-0.05f * t))},
            {"dense/kernel", filled({2, 3}, 1 - 0.01f * t)},
            {"dense/bias", filled({3}, 0.01f * t)},
            {"gradients/dense/kernel", filled({2, 3}, 1 / (1 + t))},
            {"gradients/dense/bias", filled({3}, -1 / (1 + t))}};
  }
  // A step with a loss that falls, and wavers a little.
  void step() {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;
    const float waver = static_cast<float>(random_ >> 40) * 0x1p-24f;
    const float loss = 2 / (1 + 0.1f * static_cast<float>(steps_)) + 0.1f * waver;
    must_succeed("a step", [&] { hook_->step(values(loss)); });
  }
  void steps(int n) {
    for (int i = 0; i < n; ++i) step();
  }

 private:
  static Tensor filled(const Dims& dims, float value) {
    Tensor t(DType::kFloat32, dims);
    std::fill_n(t.data<float>(), t.size(), value);
    return t;
  }
  // The synthetic run keeps its best checkpoint, as one with [checkpoint] keep_best does.
  void add_best_checkpoint() {
    const std::string best = folder_->path() + "/best";
    std::ofstream(best) << "{}";
    hook_->checkpoints().add(best, {{"dense/kernel", filled({2, 3}, 2)},
                                    {"dense/bias", filled({3}, 2)},
                                    {"learning_rate", Tensor(1.f)},
                                    {"learning_rate_scale", Tensor(1.f)},
                                    {"global_step", Tensor(std::int64_t{1})}});
  }
  // A trainable one, with its gradient.
  void add_variable(const std::string& name, const Dims& dims) {
    const std::string gradient = "gradients/" + name;
    for (const std::string& tensor : {name, gradient}) {
      hook_->tensor<float>(tensor, dims);
      hook_->session().set_value(tensor, filled(dims, 1));
    }
    hook_->session().variable(name, filled(dims, 1));
    hook_->graph().collect(collections::kGlobalVariables, name);
    hook_->graph().collect(collections::kTrainableVariables, name);
    hook_->graph().collect(collections::kGradients, gradient);
    hook_->graph().collect(collections::kGradientVariables, name);
  }

  std::shared_ptr<const TemporaryFolder> folder_;
  std::unique_ptr<HookDriver> hook_;
  std::uint64_t random_;
  int steps_ = 0;
};

void begin(const Subject& subject) {
  Training training(subject);
  training.begin();
  must_succeed("a second begin on the same graph", [&] { training.hook().begin_again(); });
}

void life(const Subject& subject) {
  {
    Training first(subject);
    first.start();
  }
  const ProcessResources before;
  {
    Training training(subject);
    HookDriver& hook = training.hook();
    training.start();
    training.steps(10);
    must_succeed("a checkpoint", [&] { hook.save(); });
    training.steps(5);
    must_succeed("before_run of a step that fails", [&] { hook.failed_step(training.values(1)); });
    must_succeed("a recovery", [&] { hook.recover(); });
    training.steps(15);
    must_succeed("end", [&] { hook.end(); });
    must_succeed("destroy", [&] { hook.destroy(); });
  }
  if (const std::string more = ProcessResources().more_than(before); !more.empty())
    throw CheckFailed("after its end and destruction it left " + more);
}

void short_lives(const Subject& subject) {
  {
    Training never_begun(subject);
    must_succeed("destroy before begin", [&] { never_begun.hook().destroy(); });
  }
  {
    Training no_session(subject);
    no_session.begin();
    must_succeed("destroy after begin", [&] { no_session.hook().destroy(); });
  }
  Training no_step(subject);
  no_step.start();
  must_succeed("end without a step", [&] { no_step.hook().end(); });
}

// Values that a training that has gone wrong delivers. A hook may end the run, with a reason.
void extreme_values(const Subject& subject) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const float loss : {std::numeric_limits<float>::quiet_NaN(), inf, -inf, 0.f, -1.f,
                           std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()}) {
    Training training(subject);
    training.start();
    training.steps(2);
    may_refuse("a step whose loss is " + detail::number_text(static_cast<double>(loss)), [&] {
      training.hook().step(training.values(loss));
      training.step();
    });
  }
}

void state_comes_back(const Subject& subject) {
  Training before(subject);
  before.start();
  before.steps(7);
  StoredState saved;
  must_succeed("save_state", [&] { saved = before.hook().save_state(); });
  if (saved.empty()) throw CheckSkipped("it keeps no state");
  Training after(subject, {}, before.folder());
  after.begin();
  must_succeed("load_state", [&] { after.hook().load_state(saved); });
  StoredState again;
  must_succeed("save_state after load_state", [&] { again = after.hook().save_state(); });
  for (const auto& [key, value] : saved) {
    const auto found = again.find(key);
    if (found == again.end()) throw CheckFailed("state '" + key + "' is gone after it was saved, loaded and saved");
    if (found->second != value)
      throw CheckFailed("state '" + key + "' is " + value.text() + ", and after it was loaded and saved again " +
                        found->second.text());
  }
  if (again.size() != saved.size()) throw CheckFailed("its state grew when it was loaded and saved again");
  must_succeed("after_create_session with a loaded state", [&] { after.hook().create_session(); });
  after.steps(3);
}

void foreign_state(const Subject& subject) {
  {
    Training training(subject);
    training.begin();
    must_succeed("load_state of an empty state", [&] { training.hook().load_state({}); });
  }
  Training source(subject);
  source.start();
  source.steps(3);
  const StoredState saved = source.hook().save_state();
  const StoredValue wrong[] = {StoredValue("text"),
                               StoredValue(-1),
                               StoredValue(std::nan("")),
                               StoredValue(true),
                               StoredValue(std::vector<double>{1, 2, 3}),
                               StoredValue(std::vector<std::int64_t>{}),
                               StoredValue(Tensor({2}, {std::nanf(""), -1.f})),
                               StoredValue(Tensor(DType::kInt64, {0, 3}))};
  for (const auto& entry : saved) {
    for (const StoredValue& value : wrong) {
      StoredState damaged = saved;
      damaged.insert_or_assign(entry.first, value);
      Training training(subject, {}, source.folder());
      training.begin();
      may_refuse("load_state with '" + entry.first + "' = " + value.text(), [&] {
        training.hook().load_state(damaged);
        training.hook().create_session();
        training.hook().step(training.values(1));
      });
    }
  }
}

void errors(const Subject& subject) {
  for (const Code code : {Code::kCancelled, Code::kUnknown, Code::kInvalidArgument, Code::kAborted, Code::kInternal,
                          Code::kUnavailable, Code::kDataLoss, Code::kDiverged}) {
    Training training(subject);
    training.start();
    training.steps(2);
    must_succeed("before_run of a step that fails", [&] { training.hook().failed_step(training.values(1)); });
    must_succeed(std::string("on_error with ") + code_name(code),
                 [&] { training.hook().error(Error(code, "synthetic, by belay validate")); });
    must_succeed("destroy after on_error", [&] { training.hook().destroy(); });
  }
}

// Hosts that lack a service: a hook does without it, or says so.
void missing_services(const Subject& subject) {
  for (const char* service : {"core", "graph", "session", "coordinator", "events", "checkpoint", "state"}) {
    may_refuse(std::string("a host without service '") + service + "'", [&] {
      Training training(subject, {service});
      training.hook().begin();
      training.hook().create_session();
      for (int i = 0; i < 3; ++i) training.hook().step(training.values(1));
      training.hook().save();
      training.hook().end();
    });
  }
}

void failing_services(const Subject& subject) {
  Training training(subject);
  const Error full(Code::kResourceExhausted, "no space left on device");
  training.begin();
  training.hook().events().fail_with(full);
  training.hook().checkpoints().fail_saves_with(full);
  may_refuse("a host whose disk is full", [&] {
    training.hook().create_session();
    for (int i = 0; i < 30; ++i) training.hook().step(training.values(1));
    training.hook().end();
  });
}

}  // namespace

std::vector<Check> hook_checks() {
  return {{"drive.begin", begin},
          {"drive.life", life},
          {"drive.short_lives", short_lives},
          {"drive.extreme_values", extreme_values},
          {"state.comes_back", state_comes_back},
          {"state.foreign", foreign_state},
          {"faults.errors", errors},
          {"faults.missing_services", missing_services},
          {"faults.failing_services", failing_services}};
}

}  // namespace belay::runtime
