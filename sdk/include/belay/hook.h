// SPDX-License-Identifier: Apache-2.0
// A Hook watches a session from outside: it logs, saves, measures, stops. Derive from it, override the callbacks that
// you need, and export the class with BELAY_MODULE (module.h).
//
//   begin -> after_create_session -> (before_run -> the run -> after_run)* -> end
//
//   for each hook: begin                            the graph is open for the last time
//   loop:
//     create or restore the session
//     for each hook: after_create_session
//     until a stop is requested:
//       for each hook: before_run                   what to fetch, feed, trace
//       one run of the caller's fetches and all hooks'
//       for each hook: after_run                    may ask to stop
//       a checkpoint, if one was asked for          before_save, save_state, ..., after_save
//     Aborted or Unavailable: from the top of the loop, the same run again
//   for each hook: end
//
// The host calls hooks in the manifest's order, in every phase. If a run fails, it calls on_error in place of end, so a
// broken run leaves no "final" checkpoint. Calls of one hook never overlap. A hook needs no lock unless it has its own
// threads. All callbacks are [session] and optional. Graph, Session and RunContext are valid for the callback that gets
// them. An exception of a callback ends the session, except for the codes in error.h.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/session.h"

namespace belay {
inline namespace v0 {

// Writes a hook's state into a checkpoint, by key: put for numbers, strings and lists of them, tensor for arrays. All
// values of a run's hooks together may take 16 MiB of JSON. Only memory and disk limit tensors. A key has a value or a
// tensor, not both. Keys are UTF-8. [session] It is valid for the call of save_state.
//
//   void save_state(belay::StateWriter& state) const override { state.put("best", best_); }
//   void load_state(const belay::StateReader& state) override { best_ = state.number("best", best_); }
class StateWriter {
 public:
  StateWriter(const belay_state_service* api, belay_state* self) noexcept : api_(api), self_(self) {}
  // Sets the key's value, which is copied; the last value counts. RESOURCE_EXHAUSTED: the limit of all hooks is
  // reached. INVALID_ARGUMENT: the key is not UTF-8 or has a tensor.
  void put(std::string_view key, bool v) { put_int(key, BELAY_VALUE_BOOL, v ? 1 : 0); }
  void put(std::string_view key, int v) { put_int(key, BELAY_VALUE_INT, v); }
  void put(std::string_view key, std::int64_t v) { put_int(key, BELAY_VALUE_INT, v); }
  void put(std::string_view key, double v) { put_raw(key, {BELAY_VALUE_FLOAT, 0, 1, &v}); }
  void put(std::string_view key, std::string_view v) {
    const belay_str s = detail::str(v);
    put_raw(key, {BELAY_VALUE_TEXT, 0, 1, &s});
  }
  void put(std::string_view key, const char* v) { put(key, std::string_view(v)); }
  // Set lists of numbers. An empty list reads back as an absent key.
  void put(std::string_view key, const std::vector<double>& v) {
    put_raw(key, {BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, 0, v.size(), v.data()});
  }
  void put(std::string_view key, const std::vector<std::int64_t>& v) {
    put_raw(key, {BELAY_VALUE_INT | BELAY_VALUE_LIST, 0, v.size(), v.data()});
  }
  // Returns the host's memory for a tensor, 64-byte aligned. Fill every element before save_state returns; the memory
  // is not zeroed. The next save with the same key, dtype and dimensions gets the same memory. Any dtype but strings is
  // allowed.
  //   std::copy(window_.begin(), window_.end(),
  //             state.tensor("window", belay::DType::kFloat32, {n}).data<float>());
  TensorView tensor(std::string_view key, DType dtype, const Dims& dims) {
    belay_tensor t{};
    detail::Status status;
    status.check(api_->tensor(self_, detail::str(key), static_cast<std::int32_t>(dtype),
                              static_cast<std::int32_t>(dims.size()), dims.data(), &t, status));
    return t;
  }

 private:
  void put_int(std::string_view key, std::int32_t type, std::int64_t v) { put_raw(key, {type, 0, 1, &v}); }
  void put_raw(std::string_view key, const belay_value& v) {
    detail::Status status;
    status.check(api_->put(self_, detail::str(key), &v, status));
  }
  const belay_state_service* api_;
  belay_state* self_;
};

// Reads the state that a checkpoint has of this hook. Without a state every key is absent. DATA_LOSS: the stored value
// has another type than the call asks for. [session] It is valid for the call of load_state.
class StateReader {
 public:
  StateReader(const belay_state_service* api, belay_state* self) noexcept : api_(api), self_(self) {}
  // True if the key has a value or a tensor; false for an empty list.
  bool has(std::string_view key) const { return get(key).data != nullptr; }
  // Return the key's value, or `absent` if the key is absent. flag reads a bool, integer an integer or bool, number an
  // integer or floating-point number, text a string.
  bool flag(std::string_view key, bool absent = false) const { return integer(key, absent ? 1 : 0) != 0; }
  std::int64_t integer(std::string_view key, std::int64_t absent = 0) const {
    const belay_value v = get(key);
    if (v.data == nullptr) return absent;
    if (v.type != BELAY_VALUE_INT && v.type != BELAY_VALUE_BOOL) fail_type(key, "an integer");
    return *static_cast<const std::int64_t*>(v.data);
  }
  double number(std::string_view key, double absent = 0) const {
    const belay_value v = get(key);
    if (v.data == nullptr) return absent;
    if (v.type == BELAY_VALUE_INT) return static_cast<double>(*static_cast<const std::int64_t*>(v.data));
    if (v.type != BELAY_VALUE_FLOAT) fail_type(key, "a number");
    return *static_cast<const double*>(v.data);
  }
  std::string text(std::string_view key, std::string_view absent = {}) const {
    const belay_value v = get(key);
    if (v.data == nullptr) return std::string(absent);
    if (v.type != BELAY_VALUE_TEXT) fail_type(key, "a string");
    return std::string(detail::view(*static_cast<const belay_str*>(v.data)));
  }
  // Return the key's list; empty if the key is absent.
  std::vector<double> numbers(std::string_view key) const { return list<double>(key, BELAY_VALUE_FLOAT); }
  std::vector<std::int64_t> integers(std::string_view key) const { return list<std::int64_t>(key, BELAY_VALUE_INT); }
  // Reads a tensor from the checkpoint: read-only, 64-byte aligned, valid until load_state returns. It has no value
  // (has_value()) if the key is absent. Its dtype and dimensions are the file's: compare dims() before you copy.
  // data<T>() refuses another dtype. DATA_LOSS: the checkpoint's file is damaged.
  TensorView tensor(std::string_view key) const {
    const belay_value v = get(key);
    if (v.data == nullptr) return {};
    if (v.type != BELAY_VALUE_TENSOR) fail_type(key, "a tensor");
    const auto& t = *static_cast<const belay_tensor*>(v.data);
    detail::check_tensor(t);
    return t;
  }
  // All keys, of values and of tensors, in the order of their bytes.
  std::vector<std::string> keys() const {
    std::vector<std::string> out(static_cast<std::size_t>(api_->count(self_)));
    for (std::size_t i = 0; i < out.size(); ++i) {
      belay_str key{};
      detail::Status status;
      status.check(api_->key(self_, i, &key, status));
      out[i] = detail::view(key);
    }
    return out;
  }
  // Version of the library that saved this state. It is empty if not known, such as for a program's own hook.
  std::string written_by() const {
    belay_str version{};
    detail::Status status;
    status.check(api_->written_by(self_, &version, status));
    return std::string(detail::view(version));
  }

 private:
  // Returns the stored value. data is null if the key is absent, and for an empty list.
  belay_value get(std::string_view key) const {
    belay_value v{};
    detail::Status status;
    const std::int32_t code = api_->get(self_, detail::str(key), &v, status);
    if (code == BELAY_NOT_FOUND) return belay_value{};
    status.check(code);
    return v;
  }
  template <class T>
  std::vector<T> list(std::string_view key, std::int32_t element) const {
    const belay_value v = get(key);
    if (v.data == nullptr) return {};
    if (v.type != (element | BELAY_VALUE_LIST)) fail_type(key, "a list");
    const T* data = static_cast<const T*>(v.data);
    return std::vector<T>(data, data + v.count);
  }
  [[noreturn]] static void fail_type(std::string_view key, const char* expected) {
    fail(Code::kDataLoss, "the stored state's '" + std::string(key) + "' is not " + expected);
  }
  const belay_state_service* api_;
  belay_state* self_;
};

// A checkpoint that was written, as after_save gets it.
struct Saved {
  std::int64_t step;      // global step of the snapshot
  std::string_view path;  // its directory, absolute; valid for the call
};

// The base of hook plugins. Its callbacks do nothing unless a class overrides them; only overridden ones cost time.
class Hook : public Plugin {
 public:
  // Looks up names to fetch and adds nodes; the graph is still open. A second session on the same graph calls begin
  // again; it must then add no more nodes.
  virtual void begin(Graph& graph) { (void)graph; }
  // The variables are initialized or restored, and the graph is frozen. It comes again after every recovery.
  virtual void after_create_session(Session& session) { (void)session; }
  // Returns the fetches, feeds and options for the coming run. Nodes cannot be added. Avoid allocations: it is part of
  // every step.
  virtual RunArgs before_run(RunContext& run) {
    (void)run;
    return {};
  }
  // Reads the results of the run. `values` is valid for the call. run.request_stop ends the loop after this step.
  virtual void after_run(RunContext& run, const RunValues& values) { (void)run, (void)values; }
  // The loop has ended without an error. Raw runs are still possible, and save_checkpoint writes at once.
  virtual void end(Session& session) { (void)session; }

  // Comes before every checkpoint, like TensorFlow's saver listeners. The checkpoint has the variables as they are at
  // this moment. skip_checkpoint (checkpoint.h) prevents this checkpoint.
  virtual void before_save(Session& session, std::int64_t step) { (void)session, (void)step; }
  // The checkpoint is on the disk, complete; the session may have run some steps since. Return true to stop the
  // session.
  virtual bool after_save(Session& session, const Saved& saved) {
    (void)session, (void)saved;
    return false;
  }
  // The session ends because of this error, which any part may have raised. It is the last call before the destructor.
  // The host ignores an exception of it.
  virtual void on_error(const Error& error) { (void)error; }
  // Write and read the state that must survive a restart. save_state comes for every checkpoint. load_state comes when
  // a session was restored from a checkpoint, after its variables and before after_create_session. It also comes if the
  // checkpoint has no state of this hook. Keys may be absent: keep the initial values for them.
  virtual void save_state(StateWriter& state) const { (void)state; }
  virtual void load_state(const StateReader& state) { (void)state; }
};

}  // namespace v0
}  // namespace belay
