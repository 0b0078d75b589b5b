// SPDX-License-Identifier: Apache-2.0
// Fuzzes a hook's life with a damaged state, odd values and shapes. It makes callbacks in any order that a host may
// choose.
#include <fmt/core.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <string>
#include <utility>

#include "belay/testing/testing.h"
#include "runtime/platform/text/text.h"
#include "runtime/validate/fuzz.h"
#include "runtime/validate/synthetic_training.h"

namespace belay::runtime {
namespace {

using belay::testing::HookDriver;
using belay::testing::StoredState;
using belay::testing::StoredValue;

// Changes the length or the elements of a list. A single value is replaced.
template <class T, class F>
StoredValue other_values(std::vector<T> values, bool list, FuzzCase& fuzz, F&& make) {
  if (!list) return StoredValue(make());
  switch (fuzz.below(4)) {
    case 0: values.clear(); break;
    case 1: values.insert(values.end(), values.begin(), values.end()); break;
    case 2: values.resize(static_cast<std::size_t>(fuzz.below(values.size() + 1))); break;
    default: values.assign(values.size() + fuzz.below(3), make());
  }
  return StoredValue(values);
}

StoredValue other_tensor(const TensorView& tensor, FuzzCase& fuzz) {
  switch (fuzz.below(4)) {
    case 0: return StoredValue(fuzz.tensor(tensor.dtype(), fuzz.dims()));
    case 1: return StoredValue(fuzz.tensor(fuzz.one_in(2) ? DType::kFloat64 : DType::kInt32, tensor.dims()));
    case 2: {  // cut, or one more
      Dims dims = tensor.dims();
      if (!dims.empty()) dims[0] = static_cast<std::int64_t>(fuzz.below(static_cast<std::uint64_t>(dims[0]) + 2));
      return StoredValue(fuzz.tensor(tensor.dtype(), dims));
    }
    default: break;
  }
  Tensor flipped(tensor);
  const TensorView view(flipped.view());
  if (view.dtype() == DType::kString || view.bytes() == 0) return StoredValue(flipped);
  auto* bytes = static_cast<unsigned char*>(view.mutable_data());
  for (std::uint64_t flips = 1 + fuzz.below(8); flips > 0; --flips) {
    unsigned char& byte = bytes[fuzz.below(view.bytes())];
    byte = static_cast<unsigned char>(byte ^ (1u << fuzz.below(8)));
  }
  return StoredValue(flipped);
}

StoredValue something_else(FuzzCase& fuzz) {
  switch (fuzz.below(6)) {
    case 0: return StoredValue(fuzz.text());
    case 1: return StoredValue(fuzz.integer());
    case 2: return StoredValue(fuzz.number());
    case 3: return StoredValue(fuzz.one_in(2));
    case 4: return StoredValue(std::vector<double>(fuzz.below(5), fuzz.number()));
    default: return StoredValue(fuzz.tensor(fuzz.one_in(2) ? DType::kFloat32 : DType::kInt64, fuzz.dims()));
  }
}

// Returns another value of the same type, or of another one.
StoredValue damaged_value(const StoredValue& value, FuzzCase& fuzz) {
  if (fuzz.one_in(4)) return something_else(fuzz);
  const belay_value raw = value.raw();
  const auto n = static_cast<std::size_t>(raw.count);
  const bool list = (raw.type & BELAY_VALUE_LIST) != 0;
  switch (raw.type & ~BELAY_VALUE_LIST) {
    case BELAY_VALUE_INT: {
      const auto* data = static_cast<const std::int64_t*>(raw.data);
      return other_values(std::vector<std::int64_t>(data, data + n), list, fuzz, [&] { return fuzz.integer(); });
    }
    case BELAY_VALUE_FLOAT: {
      const auto* data = static_cast<const double*>(raw.data);
      return other_values(std::vector<double>(data, data + n), list, fuzz, [&] { return fuzz.number(); });
    }
    case BELAY_VALUE_TEXT: {
      std::vector<std::string> texts;
      for (std::size_t i = 0; i < n; ++i) texts.emplace_back(detail::view(static_cast<const belay_str*>(raw.data)[i]));
      const std::string first = texts.empty() ? "" : texts[0];
      return other_values(std::move(texts), list, fuzz, [&] { return fuzz.damaged(first); });
    }
    case BELAY_VALUE_TENSOR: return other_tensor(TensorView(*static_cast<const belay_tensor*>(raw.data)), fuzz);
    default: return something_else(fuzz);
  }
}

std::string short_text(const StoredValue& value) {
  constexpr std::size_t kMost = 60;
  return escaped(value.text().substr(0, kMost));
}

StoredState damaged_state(StoredState state, FuzzCase& fuzz) {
  for (std::uint64_t n = fuzz.below(3) + 1; n > 0; --n) {
    if (state.empty() || fuzz.one_in(8)) {
      const std::string key = fuzz.text();
      state.insert_or_assign(key, something_else(fuzz));
      fuzz.note("the state has '" + escaped(key.substr(0, 40)) + "' = " + short_text(state.at(key)));
      continue;
    }
    auto entry = state.begin();
    std::advance(entry, static_cast<std::ptrdiff_t>(fuzz.below(state.size())));
    if (fuzz.one_in(4)) {
      fuzz.note("the state lacks '" + entry->first + "'");
      state.erase(entry);
      continue;
    }
    entry->second = damaged_value(entry->second, fuzz);
    fuzz.note("the state has '" + entry->first + "' = " + short_text(entry->second));
  }
  return state;
}

TrainingShape odd_shape(FuzzCase& fuzz) {
  TrainingShape shape;
  if (fuzz.one_in(2)) return shape;
  if (fuzz.one_in(4)) shape.loss = fuzz.dims();
  if (fuzz.one_in(2)) shape.kernel = fuzz.dims();
  if (fuzz.one_in(2)) shape.bias = fuzz.dims();
  fuzz.note("loss " + dims_text(shape.loss) + ", dense/kernel " + dims_text(shape.kernel) + ", dense/bias " +
            dims_text(shape.bias));
  return shape;
}

// The actions of a life. Each is allowed while a session is open.
class Life {
 public:
  Life(const Subject& subject, FuzzCase& fuzz, const std::vector<std::string>& without,
       SyntheticTraining::Folder folder)
      : fuzz_(fuzz), shape_(odd_shape(fuzz)), training_(subject, without, std::move(folder), shape_) {}

  HookDriver& hook() { return training_.hook(); }

  void start(const StoredState* saved) {
    note("begin");
    training_.begin();
    if (fuzz_.one_in(6)) {
      note("begin again");
      hook().begin_again();
    }
    if (saved != nullptr) {
      const StoredState state = fuzz_.one_in(4) ? *saved : damaged_state(*saved, fuzz_);
      note("load_state");
      hook().load_state(state);
    }
    if (fuzz_.one_in(4)) set_step();
    note("after_create_session");
    hook().create_session();
  }
  // False: the hook asks for the end.
  bool act() {
    switch (fuzz_.below(12)) {
      case 0: note("save"); return !hook().save();
      case 1: save_state(); break;
      case 2: fail_and_recover(); break;
      case 3: set_step(); break;
      case 4: change_pace(); break;
      case 5: fail_services(); break;
      default: return step();
    }
    return true;
  }
  void finish() {
    if (fuzz_.one_in(3)) return error(Error(Code::kUnavailable, "synthetic, by belay validate"));
    note("end");
    hook().end();
  }
  // An error of a callback ends the run: every hook's on_error gets it.
  void error(const Error& why) {
    note("on_error");
    may_refuse("on_error", [&] { hook().error(why); });
  }
  void destroy() {
    note("destroy");
    hook().destroy();
  }

 private:
  void note(const std::string& what) const { fuzz_.note(what); }

  bool step() {
    HookDriver::Values values = training_.values(static_cast<float>(fuzz_.number()));
    std::string text = "a step";
    for (auto& [name, value] : values) {
      if (!fuzz_.one_in(3)) continue;
      value = fuzz_.tensor(DType::kFloat32, value.dims());
      text += ", " + name + " = " + short_text(StoredValue(value));
    }
    note(text);
    return !hook().step(values).stop_asked;
  }
  void save_state() {
    note("save_state");
    hook().save_state();
  }
  void fail_and_recover() {
    note("a step that fails");
    hook().failed_step(training_.values(1));
    note("recover");
    hook().recover();
  }
  void set_step() {
    const std::int64_t step = fuzz_.one_in(2) ? static_cast<std::int64_t>(fuzz_.below(100)) : fuzz_.integer();
    // Steps count up, including other processes' steps, and a run never comes near the largest number.
    const std::int64_t possible = std::max(hook().step_number(), std::min(step, std::int64_t{1} << 60));
    note(fmt::format("the global step is {}", possible));
    hook().set_global_step(possible);
  }
  void change_pace() {
    static const std::vector<std::int64_t> kSteps{0, 1, 1, 5, 1000};
    static const std::vector<double> kSeconds{0, 1e-9, 0.1, 60, 1e5, 3e7};
    const std::int64_t steps = fuzz_.of(kSteps);
    const double seconds = fuzz_.of(kSeconds);
    note(fmt::format("{} steps a run, and {} s pass", steps, detail::number_text(seconds)));
    hook().steps_per_run(steps);
    hook().host().clock.advance(seconds);
  }
  void fail_services() {
    note("a full disk");
    const Error full(Code::kResourceExhausted, "no space left on device");
    hook().events().fail_with(full);
    hook().checkpoints().fail_saves_with(full);
  }

  FuzzCase& fuzz_;
  TrainingShape shape_;
  SyntheticTraining training_;
};

void live(Life& life, FuzzCase& fuzz, const StoredState* saved) {
  try {
    life.start(saved);
    for (std::uint64_t n = fuzz.below(20); n > 0; --n)
      if (!life.act()) break;
    life.finish();
  } catch (const Error& e) {
    require_explained("a callback", e);
    life.error(e);
  }
  life.destroy();
}

}  // namespace

void fuzz_hook(const Subject& subject, FuzzCase& fuzz) {
  static const std::vector<std::string> kServices{"graph",      "session", "coordinator", "events",
                                                  "checkpoint", "state",   "core"};
  std::vector<std::string> without;
  if (fuzz.one_in(8)) {
    without.push_back(fuzz.of(kServices));
    fuzz.note("without service '" + without[0] + "'");
  }
  const auto folder = std::make_shared<const belay::testing::TemporaryFolder>();
  StoredState saved;
  const bool resumed = fuzz.one_in(2);
  if (resumed) {
    SyntheticTraining before(subject, {}, folder);
    fuzz.note("a first run");
    before.begin();
    before.hook().create_session();
    for (std::uint64_t n = fuzz.below(12); n > 0; --n) before.hook().step(before.values(1));
    saved = before.hook().save_state();
  }
  Life life(subject, fuzz, without, folder);
  live(life, fuzz, resumed ? &saved : nullptr);
}

}  // namespace belay::runtime
