// SPDX-License-Identifier: Apache-2.0
// Service "checkpoint": checkpoints that a test adds, and the requests to save.
//
//   FakeCheckpoints checkpoints(host);
//   checkpoints.add("runs/a/model.ckpt-100", {{"w", Tensor({2}, {1.f, 2.f})}});
//
// A directory ("runs/a") means its checkpoint that was added last.
#pragma once

#include <cstdint>
#include <cstring>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "belay/checkpoint.h"
#include "belay/testing/fake_host.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeCheckpoints {
 public:
  explicit FakeCheckpoints(FakeHost& host) {
    host.set_service("checkpoint", &kCheckpoint);
    host.set_context("checkpoint", this);
  }
  FakeCheckpoints(const FakeCheckpoints&) = delete;
  FakeCheckpoints& operator=(const FakeCheckpoints&) = delete;

  void add(std::string path, const std::map<std::string, Tensor>& tensors) {
    stored_.push_back({std::move(path), {tensors.begin(), tensors.end()}, std::nullopt});
  }
  // Adds a checkpoint whose opening fails, like a damaged one.
  void add_damaged(std::string path, const Error& error) { stored_.push_back({std::move(path), {}, error}); }
  // Number of checkpoints that are open.
  std::size_t open_count() const {
    std::size_t n = 0;
    for (const Opened& o : opened_) n += o.closed ? 0 : 1;
    return n;
  }
  // Number of the plugin's requests for a checkpoint.
  int save_requests() const noexcept { return save_requests_; }
  // Makes every later request fail with this error.
  void fail_saves_with(const Error& error) { save_failure_ = error; }

 private:
  struct Stored {
    std::string path;
    std::vector<std::pair<std::string, Tensor>> tensors;  // sorted by name
    std::optional<Error> damage;
  };
  struct Opened {
    const Stored* stored;
    FakeHost* host;
    bool closed = false;
  };

  const Stored* find(const std::string& path) const {
    const Stored* found = nullptr;
    for (const Stored& s : stored_)
      if (s.path == path || s.path.substr(0, path.size() + 1) == path + "/") found = &s;
    return found;
  }

  template <class F>
  static std::int32_t call(belay_host* raw, const char* slot, belay_status* status, F&& f) {
    return detail::guard(status, [&] {
      FakeHost& host = FakeHost::from(raw);
      host.require_thread(std::string("checkpoint.") + slot);
      f(host.context<FakeCheckpoints>("checkpoint"));
    });
  }
  static const Opened& require_open(belay_checkpoint* raw) {
    const Opened& o = *reinterpret_cast<Opened*>(raw);
    if (o.closed) {
      o.host->note_breach("a checkpoint was used after it was closed");
      fail(Code::kFailedPrecondition, "a checkpoint was used after it was closed");
    }
    return o;
  }
  static const std::pair<std::string, Tensor>& entry(belay_checkpoint* raw, std::uint64_t i) {
    const Opened& o = require_open(raw);
    if (i >= o.stored->tensors.size())
      fail(Code::kInvalidArgument, "the checkpoint has " + std::to_string(o.stored->tensors.size()) +
                                       " tensors, there is no tensor " + std::to_string(i));
    return o.stored->tensors[static_cast<std::size_t>(i)];
  }

  static std::int32_t save(belay_host* raw, belay_status* status) {
    return call(raw, "save", status, [](FakeCheckpoints& c) {
      if (c.save_failure_) throw Error(*c.save_failure_);
      ++c.save_requests_;
    });
  }
  static std::int32_t latest(belay_host* raw, belay_str directory, belay_str* path, belay_status* status) {
    return call(raw, "latest", status, [&](FakeCheckpoints& c) {
      const std::string name(detail::view(directory));
      const Stored* found = c.find(name);
      if (found == nullptr) fail(Code::kNotFound, "no checkpoint in '" + name + "'");
      c.latest_path_ = found->path;
      *path = detail::str(c.latest_path_);
    });
  }
  static std::int32_t open(belay_host* raw, belay_str path, belay_checkpoint** checkpoint, belay_status* status) {
    return call(raw, "open", status, [&](FakeCheckpoints& c) {
      const std::string name(detail::view(path));
      const Stored* found = c.find(name);
      if (found == nullptr) fail(Code::kNotFound, "no checkpoint at '" + name + "'");
      if (found->damage) throw Error(*found->damage);
      *checkpoint = reinterpret_cast<belay_checkpoint*>(&c.opened_.emplace_back(Opened{found, &FakeHost::from(raw)}));
    });
  }
  static std::uint64_t count(belay_checkpoint* raw) { return reinterpret_cast<Opened*>(raw)->stored->tensors.size(); }
  static std::int32_t info(belay_checkpoint* raw, std::uint64_t i, belay_str* name, belay_tensor* tensor,
                           belay_status* status) {
    return detail::guard(status, [&] {
      const auto& [own_name, value] = entry(raw, i);
      *name = detail::str(own_name);
      *tensor = value.view();
      tensor->data = nullptr;
    });
  }
  static std::int32_t read(belay_checkpoint* raw, std::uint64_t i, void* data, std::uint64_t bytes,
                           belay_status* status) {
    return detail::guard(status, [&] {
      const auto& [name, value] = entry(raw, i);
      const TensorView view(value.view());
      if (view.dtype() == DType::kString)
        fail(Code::kUnimplemented, "'" + name + "' is a string tensor; a checkpoint has none");
      if (bytes != view.bytes())
        fail(Code::kInvalidArgument, "'" + name + "' has " + std::to_string(view.bytes()) + " bytes, " +
                                         std::to_string(bytes) + " were asked for");
      if (bytes != 0) std::memcpy(data, view.data(), view.bytes());
    });
  }
  static void close(belay_checkpoint* raw) {
    Opened& o = *reinterpret_cast<Opened*>(raw);
    if (o.closed) o.host->note_breach("a checkpoint was closed twice");
    o.closed = true;
  }
  static constexpr belay_checkpoint_api kCheckpoint{sizeof(belay_checkpoint_api), 0,
                                                    &FakeCheckpoints::save,       &FakeCheckpoints::latest,
                                                    &FakeCheckpoints::open,       &FakeCheckpoints::count,
                                                    &FakeCheckpoints::info,       &FakeCheckpoints::read,
                                                    &FakeCheckpoints::close};

  std::deque<Stored> stored_;
  std::deque<Opened> opened_;
  std::string latest_path_;
  std::optional<Error> save_failure_;
  int save_requests_ = 0;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
