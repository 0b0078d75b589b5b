// SPDX-License-Identifier: Apache-2.0
// A Hook watches a session from outside: logging, checkpoints, stopping. Derive, override what you need, export with
// BELAY_MODULE (module.h).
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
// Hooks are called in the manifest's order, in every phase. end is skipped when a run fails, so a broken run leaves no
// "final" checkpoint; on_error is called instead. All calls of one hook come one after the other; nothing here needs a
// lock unless the hook has threads of its own.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/session.h"

namespace belay {
inline namespace v0 {

// A hook's state inside a checkpoint, by key: numbers, strings and lists of them by put, arrays by tensor. All values
// of a run's hooks together may take 16 MiB of JSON; tensors have no limit but memory and disk. A key has a value or a
// tensor, not both. [session] Valid for the call of save_state.
class StateWriter {
 public:
  StateWriter(const belay_state_service* api, belay_state* self) noexcept : api_(api), self_(self) {}
  void put(std::string_view key, bool v) { put_int(key, BELAY_VALUE_BOOL, v ? 1 : 0); }
  void put(std::string_view key, int v) { put_int(key, BELAY_VALUE_INT, v); }
  void put(std::string_view key, std::int64_t v) { put_int(key, BELAY_VALUE_INT, v); }
  void put(std::string_view key, double v) { put_raw(key, {BELAY_VALUE_FLOAT, 0, 1, &v}); }
  void put(std::string_view key, std::string_view v) {
    const belay_str s = detail::str(v);
    put_raw(key, {BELAY_VALUE_TEXT, 0, 1, &s});
  }
  void put(std::string_view key, const char* v) { put(key, std::string_view(v)); }
  void put(std::string_view key, const std::vector<double>& v) {
    put_raw(key, {BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, 0, v.size(), v.data()});
  }
  void put(std::string_view key, const std::vector<std::int64_t>& v) {
    put_raw(key, {BELAY_VALUE_INT | BELAY_VALUE_LIST, 0, v.size(), v.data()});
  }
  // The host's memory for a tensor, to be filled until save_state returns: every element, for it holds anything.
  // 64-byte aligned. The next save of the same key, dtype and dimensions gets the same memory. Any dtype but strings.
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

// The state that a checkpoint has of this hook; none where there is none. A value of another type than is asked for is
// DATA_LOSS. [session] Valid for the call of load_state.
class StateReader {
 public:
  StateReader(const belay_state_service* api, belay_state* self) noexcept : api_(api), self_(self) {}
  bool has(std::string_view key) const { return get(key).data != nullptr; }
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
  std::vector<double> numbers(std::string_view key) const { return list<double>(key, BELAY_VALUE_FLOAT); }
  std::vector<std::int64_t> integers(std::string_view key) const { return list<std::int64_t>(key, BELAY_VALUE_INT); }
  // A tensor, read from the checkpoint by this call; read-only, 64-byte aligned, valid until load_state returns.
  // Without a value (has_value) where the key is absent. Its form is the file's: compare dims() before copying,
  // data<T>() refuses another dtype.
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
  // Version of the library that saved this state; empty where that is not known, as of a program's own hook.
  std::string written_by() const {
    belay_str version{};
    detail::Status status;
    status.check(api_->written_by(self_, &version, status));
    return std::string(detail::view(version));
  }

 private:
  // data is null where the key is absent (and where it is an empty list).
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
  std::int64_t step;
  std::string_view path;  // of its directory, absolute; valid for the call
};

class Hook : public Plugin {
 public:
  // Looks up what to fetch. The graph may still grow; a second session on the same graph calls begin again, which must
  // then add nothing more.
  virtual void begin(Graph& graph) { (void)graph; }
  // Called when variables are initialized or restored and the graph is frozen; again after every recovery.
  virtual void after_create_session(Session& session) { (void)session; }
  virtual RunArgs before_run(RunContext& run) {
    (void)run;
    return {};
  }
  virtual void after_run(RunContext& run, const RunValues& values) { (void)run, (void)values; }
  virtual void end(Session& session) { (void)session; }

  // Called before every checkpoint, as TensorFlow's saver listeners are. The variables are written as they are at this
  // moment; it may refuse the checkpoint (skip_checkpoint in checkpoint.h).
  virtual void before_save(Session& session, std::int64_t step) { (void)session, (void)step; }
  // Called when the checkpoint is on the disk, whole; the session may be some steps further. Returning true asks the
  // session to stop.
  virtual bool after_save(Session& session, const Saved& saved) {
    (void)session, (void)saved;
    return false;
  }
  // The session ends because of this error, raised anywhere; the last call before destruction.
  virtual void on_error(const Error& error) { (void)error; }
  // What must survive a restart. save_state is called for every checkpoint; load_state whenever a session was restored
  // from a checkpoint: its variables have their values, after_create_session comes next. It is also called if the
  // checkpoint has no state of this hook, and keys may be absent: keep the hook's initial values for these.
  virtual void save_state(StateWriter& state) const { (void)state; }
  virtual void load_state(const StateReader& state) { (void)state; }
};

}  // namespace v0
}  // namespace belay
