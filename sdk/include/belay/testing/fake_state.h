// SPDX-License-Identifier: Apache-2.0
// Service "state": a hook's state as a map. HookDriver uses it; a test sees only the map.
//
// A tensor's memory is 64-byte aligned, as with the real host. Memory to fill holds bytes that differ from save to
// save. So an element that the hook leaves out differs between two states. Memory to read is freed after the callback.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <deque>
#include <iterator>
#include <map>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>

#include "belay/testing/fake_host.h"
#include "belay/testing/stored_value.h"

namespace belay {
inline namespace v0 {
namespace testing {

class FakeState {
 public:
  static void offer(FakeHost& host) { host.set_service("state", &kState); }

  // `values` and `written_by` are the contents for load_state.
  explicit FakeState(FakeHost& host, StoredState values = {}, std::string written_by = {})
      : host_(host), values_(std::move(values)), written_by_(std::move(written_by)) {}
  // The values that were put, and the tensors as they are now.
  StoredState values() const {
    StoredState all = values_;
    for (const auto& [key, tensor] : tensors_) all.insert_or_assign(key, StoredValue(TensorView(tensor.view())));
    return all;
  }
  belay_state* raw() noexcept { return reinterpret_cast<belay_state*>(this); }

 private:
  class Memory {
   public:
    Memory(DType dtype, Dims dims) : dtype_(dtype), dims_(std::move(dims)) {
      bytes_ = TensorView(view_over(nullptr, 0)).bytes();
      data_.reset(::operator new(bytes_, kAlignment));
    }
    belay_tensor view(std::uint32_t flags = 0) const { return view_over(data_.get(), bytes_, flags); }
    bool fits(DType dtype, const Dims& dims) const { return dtype_ == dtype && dims_ == dims; }

   private:
    static constexpr std::align_val_t kAlignment{64};
    struct Free {
      void operator()(void* data) const noexcept { ::operator delete(data, kAlignment); }
    };
    belay_tensor view_over(void* data, std::size_t bytes, std::uint32_t flags = 0) const {
      return detail::raw_tensor(dtype_, static_cast<std::int32_t>(dims_.size()), dims_.data(), data, bytes, flags);
    }

    DType dtype_;
    Dims dims_;
    std::size_t bytes_ = 0;
    std::unique_ptr<void, Free> data_;
  };

  static FakeState& from(belay_state* raw) noexcept { return *reinterpret_cast<FakeState*>(raw); }
  // Runs f(self, key); its errors become the call's.
  template <class F>
  static std::int32_t call(const char* slot, belay_state* raw, belay_status* status, F&& f) {
    return detail::guard(status, [&] {
      from(raw).host_.require_thread(slot);
      f(from(raw));
    });
  }

  static std::int32_t put(belay_state* raw, belay_str raw_key, const belay_value* value, belay_status* status) {
    return call("state.put", raw, status, [&](FakeState& self) {
      const std::string key(detail::view(raw_key));
      if ((value->type & ~BELAY_VALUE_LIST) == BELAY_VALUE_TENSOR)
        fail(Code::kInvalidArgument, "state '" + key + "' is a tensor; a tensor is kept with the slot 'tensor'");
      if (self.tensors_.count(key) != 0)
        fail(Code::kInvalidArgument, "state '" + key + "' has a tensor in this save; a key has one of the two");
      self.values_.insert_or_assign(key, StoredValue::copy(*value));
    });
  }
  static std::int32_t get(belay_state* raw, belay_str raw_key, belay_value* value, belay_status* status) {
    return call("state.get", raw, status, [&](FakeState& self) {
      const std::string key(detail::view(raw_key));
      if (const auto written = self.tensors_.find(key); written != self.tensors_.end()) {
        *value = self.tensor_value(written->second.view(BELAY_TENSOR_READ_ONLY));
        return;
      }
      const auto it = self.values_.find(key);
      if (it == self.values_.end()) fail(Code::kNotFound, "the state has no '" + key + "'");
      *value = it->second.raw();
      if (value->type == BELAY_VALUE_TENSOR) *value = self.tensor_value(self.read(it->first, *value));
    });
  }
  static std::int32_t tensor(belay_state* raw, belay_str raw_key, std::int32_t dtype, std::int32_t rank,
                             const std::int64_t* dims, belay_tensor* out, belay_status* status) {
    return call("state.tensor", raw, status, [&](FakeState& self) {
      const std::string key(detail::view(raw_key));
      const auto type = static_cast<DType>(dtype);
      if (type == DType::kString)
        fail(Code::kInvalidArgument, "state '" + key + "': a tensor of strings is not kept; put a list of strings");
      if (rank < 0 || rank > detail::kMaxRank || (rank > 0 && dims == nullptr) || dtype_size(type) == 0)
        fail(Code::kInvalidArgument, "state '" + key + "': dtype " + std::to_string(dtype) + " and rank " +
                                         std::to_string(rank) + " are no tensor's");
      const Dims form(dims, dims + rank);
      for (const std::int64_t d : form)
        if (d < 0) fail(Code::kInvalidArgument, "state '" + key + "' has no size: " + dims_text(form));
      if (self.values_.count(key) != 0)
        fail(Code::kInvalidArgument, "state '" + key + "' has a value in this save; a key has one of the two");
      auto at = self.tensors_.find(key);
      if (at == self.tensors_.end()) {
        at = self.tensors_.emplace(key, Memory(type, form)).first;
        const belay_tensor t = at->second.view();
        if (t.bytes != 0) std::memset(t.data, unfilled(), static_cast<std::size_t>(t.bytes));
      }
      if (!at->second.fits(type, form))
        fail(Code::kInvalidArgument, "state '" + key + "' has a tensor of another form in this save");
      *out = at->second.view();
    });
  }
  static std::uint64_t count(belay_state* raw) { return from(raw).values_.size() + from(raw).tensors_.size(); }
  static std::int32_t key(belay_state* raw, std::uint64_t i, belay_str* key, belay_status* status) {
    return call("state.key", raw, status, [&](FakeState& self) {
      std::map<std::string_view, bool> all;
      for (const auto& entry : self.values_) all[entry.first];
      for (const auto& entry : self.tensors_) all[entry.first];
      if (i >= all.size())
        fail(Code::kInvalidArgument,
             "the state has " + std::to_string(all.size()) + " keys, no key " + std::to_string(i));
      *key = detail::str(std::next(all.begin(), static_cast<std::ptrdiff_t>(i))->first);
    });
  }
  static std::int32_t written_by(belay_state* raw, belay_str* version, belay_status* status) {
    return call("state.written_by", raw, status, [&](FakeState& self) { *version = detail::str(self.written_by_); });
  }
  static constexpr belay_state_service kState{sizeof(belay_state_service),
                                              0,
                                              &FakeState::put,
                                              &FakeState::get,
                                              &FakeState::tensor,
                                              &FakeState::count,
                                              &FakeState::key,
                                              &FakeState::written_by};

  static int unfilled() {
    static std::atomic<unsigned char> next{0x5a};
    return next.fetch_add(1);
  }
  // Makes a copy of a stored tensor, as if it came from a file.
  belay_tensor read(const std::string& key, const belay_value& stored) {
    const TensorView from(*static_cast<const belay_tensor*>(stored.data));
    auto at = read_.find(key);
    if (at == read_.end()) {
      at = read_.emplace(key, Memory(from.dtype(), from.dims())).first;
      if (from.bytes() != 0) std::memcpy(at->second.view().data, from.data(), from.bytes());
    }
    return at->second.view(BELAY_TENSOR_READ_ONLY);
  }
  belay_value tensor_value(const belay_tensor& tensor) {
    given_.push_back(tensor);
    return {BELAY_VALUE_TENSOR, 0, 1, &given_.back()};
  }

  FakeHost& host_;
  StoredState values_;
  std::string written_by_;
  std::map<std::string, Memory> tensors_;  // those that the hook fills
  std::map<std::string, Memory> read_;
  std::deque<belay_tensor> given_;
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
