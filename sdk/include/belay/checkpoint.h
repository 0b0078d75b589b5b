// SPDX-License-Identifier: Apache-2.0
// Checkpoints as a plugin sees them: ask for one now, read any. [session]
//
//   const Checkpoint old(host(), options.path.string());                       // in InitFn::run
//   for (const Checkpoint::Entry& e : old.entries())
//     if (e.name.rfind("encoder/", 0) == 0) session.assign(e.name, old.read(e.name));
//
// Names are those of the variables' nodes ("dense/kernel"). Checkpoints also hold the optimizers' slots and the global
// step. docs/reference/checkpoint.md describes the files' format.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "belay/host.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {

// Asks the host for a checkpoint of this step, for example before a risk, or when a metric is at its best:
//
//   if (improvement_.look(look->value, look->step)) belay::save_checkpoint(host());
//
// The host writes it at the step's boundary, after every hook's after_run. So it is one moment of variables, hook
// states and input positions. In after_create_session it writes when the session is complete; in `end` at once. Two
// requests in a step write one checkpoint.
inline void save_checkpoint(const Host& host) {
  detail::Status status;
  status.check(host.services().checkpoint.save(host.raw(), status));
}

// Call it in before_save: it prevents this checkpoint, and training continues. The log has the reason. The host does
// not call the later hooks' before_save, nor after_save. It throws Error with the code kSkip, so no code after it runs.
[[noreturn]] inline void skip_checkpoint(const std::string& reason) { fail(Code::kSkip, reason); }

// Path of the newest whole checkpoint of a run directory; empty if it has none. Other errors are thrown.
inline std::string latest_checkpoint(const Host& host, std::string_view directory) {
  belay_str path{};
  detail::Status status;
  const std::int32_t code = host.services().checkpoint.latest(host.raw(), detail::str(directory), &path, status);
  if (code == BELAY_NOT_FOUND) return {};
  status.check(code);
  return std::string(detail::view(path));
}

// Any checkpoint that the host can read, of this run or another run:
// * a directory "runs/x/model.ckpt-100";
// * a run directory "runs/x": its newest checkpoint;
// * the file "runs/x/best": the best checkpoint of [checkpoint] keep_best. FAILED_PRECONDITION: none was evaluated yet;
// * a file that the scaffold's saver understands.
//
// It is movable. It holds files open: keep it no longer than the callback that opened it.
class Checkpoint {
 public:
  // One tensor, without its elements.
  struct Entry {
    std::string name;
    DType dtype;
    Dims dims;
  };

  // Opens and verifies a checkpoint. It reads the entries, but not the elements, into memory. The destructor closes it.
  // NOT_FOUND: the path has none. DATA_LOSS, with file and place: it is damaged.
  Checkpoint(const Host& host, std::string_view path) : api_(&host.services().checkpoint) {
    detail::Status status;
    belay_checkpoint* opened = nullptr;
    status.check(api_->open(host.raw(), detail::str(path), &opened, status));
    self_ = std::unique_ptr<belay_checkpoint, Closer>(opened, Closer{api_});
    for (std::uint64_t i = 0, n = api_->count(opened); i < n; ++i) {
      belay_str name{};
      belay_tensor t{};
      status.check(api_->info(opened, i, &name, &t, status));
      const TensorView view(t);
      entries_.push_back({std::string(detail::view(name)), view.dtype(), view.dims()});
    }
  }

  // All tensors, sorted by name. Valid as long as the object.
  const std::vector<Entry>& entries() const noexcept { return entries_; }
  // The entry of a tensor, or null if the name is unknown. Valid as long as the object.
  const Entry* find(std::string_view name) const noexcept {
    const auto at = std::lower_bound(entries_.begin(), entries_.end(), name,
                                     [](const Entry& e, std::string_view wanted) { return e.name < wanted; });
    return at == entries_.end() || at->name != name ? nullptr : &*at;
  }
  // Returns a copy of the elements. NOT_FOUND: the name is unknown. DATA_LOSS: the checksum differs. String tensors
  // cannot be read.
  Tensor read(std::string_view name) const {
    const Entry* entry = find(name);
    if (entry == nullptr) fail(Code::kNotFound, "the checkpoint has no tensor '" + std::string(name) + "'");
    Tensor t(entry->dtype, entry->dims);
    const auto i = static_cast<std::uint64_t>(entry - entries_.data());
    detail::Status status;
    status.check(api_->read(self_.get(), i, t.view().data, t.size() * dtype_size(t.dtype()), status));
    return t;
  }

 private:
  // Closes the checkpoint for the unique_ptr.
  struct Closer {
    const belay_checkpoint_api* api;
    void operator()(belay_checkpoint* c) const { api->close(c); }
  };

  const belay_checkpoint_api* api_;
  std::unique_ptr<belay_checkpoint, Closer> self_;
  std::vector<Entry> entries_;
};

}  // namespace v0
}  // namespace belay
