// SPDX-License-Identifier: Apache-2.0
// Checks a hook's life in a synthetic training, its state, and its reactions to faults.
#include <algorithm>
#include <cmath>
#include <limits>

#include "belay/testing/testing.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/check.h"
#include "runtime/validate/process_state.h"
#include "runtime/validate/synthetic_training.h"

namespace belay::runtime {
namespace hook_cases {

using belay::testing::HookDriver;
using belay::testing::StoredState;
using belay::testing::StoredValue;
using Training = SyntheticTraining;

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

// A callback with a misspelt name is no callback, and is never called.
void fetches_are_seen(const Subject& subject) {
  const auto& uses = subject.info.uses;
  if (!uses || std::ranges::find(*uses, "after_run") != uses->end()) return;
  Training training(subject);
  training.start();
  const std::vector<std::string> fetched = training.hook().step(training.values(1)).fetched;
  if (!fetched.empty())
    throw CheckRemark(
        "a remark: before_run fetches " + joined(fetched) +
        ", and there is no after_run, which would get that. A fetch that only runs an operation is right; "
        "else the callback's name may be misspelt, which `override` after it shows");
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

// Delivers values of a training that has gone wrong. A hook may end the run, with a reason.
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

// If a host lacks a service, a hook works without it or reports that.
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

}  // namespace hook_cases

std::vector<Check> hook_checks() {
  using namespace hook_cases;
  return {{"drive.begin", begin},
          {"drive.life", life},
          {"drive.fetches", fetches_are_seen},
          {"drive.short_lives", short_lives},
          {"drive.extreme_values", extreme_values},
          {"state.comes_back", state_comes_back},
          {"state.foreign", foreign_state},
          {"faults.errors", errors},
          {"faults.missing_services", missing_services},
          {"faults.failing_services", failing_services}};
}

}  // namespace belay::runtime
