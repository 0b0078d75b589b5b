// SPDX-License-Identifier: Apache-2.0
// A comparable copy of a value that crossed the boundary: an entry of a hook's state, an attribute of a node. It is
// made from a C++ value (bool, number, string, vector of them, tensor) or from a value of the plugin.
//
//   EXPECT_EQ(hook.save_state().at("best"), 0.25);
//   EXPECT_EQ(hook.save_state().at("window"), StoredValue(Tensor({3}, {1.f, 2.f, 3.f})));
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "belay/tensor_text.h"
#include "belay/testing/option_values.h"

namespace belay {
inline namespace v0 {
namespace testing {

class StoredValue {
 public:
  template <class T>
  StoredValue(const T& value) : kept_("", value) {}
  StoredValue(const TensorView& tensor) : StoredValue(false) {
    kept_.integers.clear();
    kept_.type = BELAY_VALUE_TENSOR;
    tensor_ = Tensor(tensor);
  }
  StoredValue(const Tensor& tensor) : StoredValue(TensorView(tensor)) {}

  static StoredValue copy(const belay_value& v) {
    StoredValue out(false);
    out.kept_.integers.clear();
    out.kept_.type = v.type;
    const auto n = static_cast<std::size_t>(v.count);
    switch (v.type & ~BELAY_VALUE_LIST) {
      case BELAY_VALUE_BOOL:
      case BELAY_VALUE_INT: {
        const auto* data = static_cast<const std::int64_t*>(v.data);
        out.kept_.integers.assign(data, data + n);
        break;
      }
      case BELAY_VALUE_FLOAT: {
        const auto* data = static_cast<const double*>(v.data);
        out.kept_.floats.assign(data, data + n);
        break;
      }
      case BELAY_VALUE_TEXT:
        for (std::size_t i = 0; i < n; ++i)
          out.kept_.texts.emplace_back(detail::view(static_cast<const belay_str*>(v.data)[i]));
        break;
      case BELAY_VALUE_TENSOR: out.tensor_ = Tensor(TensorView(*static_cast<const belay_tensor*>(v.data))); break;
      default: fail(Code::kInvalidArgument, "a value has the unknown type " + std::to_string(v.type));
    }
    if ((v.type & BELAY_VALUE_LIST) == 0 && n != 1)
      fail(Code::kInvalidArgument, "a value that is no list has " + std::to_string(n) + " elements");
    return out;
  }

  // Returns the value as it crosses; valid as long as this object does not change.
  belay_value raw() const {
    belay_value v{kept_.type, 0, kept_.integers.size(), kept_.integers.data()};
    const std::int32_t element = kept_.type & ~BELAY_VALUE_LIST;
    if (element == BELAY_VALUE_FLOAT) v.count = kept_.floats.size(), v.data = kept_.floats.data();
    if (element == BELAY_VALUE_TEXT) {
      views_.clear();
      for (const std::string& text : kept_.texts) views_.push_back(detail::str(text));
      v.count = views_.size(), v.data = views_.data();
    }
    if (element == BELAY_VALUE_TENSOR) tensor_view_ = tensor_->view(), v.count = 1, v.data = &tensor_view_;
    return v;
  }

  std::int32_t type() const noexcept { return kept_.type; }

  // Formats the value for people: 3, 0.5, true, "some words", [1, 2].
  std::string text() const {
    std::string out;
    const auto add = [&](const std::string& element) { out += (out.empty() ? "" : ", ") + element; };
    const bool boolean = (kept_.type & ~BELAY_VALUE_LIST) == BELAY_VALUE_BOOL;
    for (const std::int64_t v : kept_.integers) add(boolean ? (v != 0 ? "true" : "false") : std::to_string(v));
    for (const double v : kept_.floats) add(detail::number_text(v));
    for (const std::string& v : kept_.texts) add("\"" + v + "\"");
    if (tensor_) add(tensor_text(*tensor_));
    return (kept_.type & BELAY_VALUE_LIST) != 0 ? "[" + out + "]" : out;
  }

  friend bool operator==(const StoredValue& a, const StoredValue& b) { return a.same(b); }
  friend bool operator!=(const StoredValue& a, const StoredValue& b) { return !a.same(b); }
  friend std::ostream& operator<<(std::ostream& out, const StoredValue& v) { return out << v.text(); }

 private:
  bool same(const StoredValue& o) const {
    const bool same_floats =  // by their bits: NaN equals NaN
        kept_.floats.size() == o.kept_.floats.size() &&
        (kept_.floats.empty() ||
         std::memcmp(kept_.floats.data(), o.kept_.floats.data(), kept_.floats.size() * sizeof(double)) == 0);
    return kept_.type == o.kept_.type && kept_.integers == o.kept_.integers && same_floats &&
           kept_.texts == o.kept_.texts && tensor_.has_value() == o.tensor_.has_value() &&
           (!tensor_ || same_tensor(*tensor_, *o.tensor_));
  }
  static bool same_tensor(const Tensor& a, const Tensor& b) {
    if (a.dtype() != b.dtype() || a.dims() != b.dims()) return false;
    if (a.dtype() == DType::kString) return tensor_text(a, a.size()) == tensor_text(b, b.size());
    const belay_tensor x = a.view(), y = b.view();
    return x.bytes == 0 || std::memcmp(x.data, y.data, static_cast<std::size_t>(x.bytes)) == 0;
  }

  OptionValue kept_;  // its name is not used
  std::optional<Tensor> tensor_;
  mutable std::vector<belay_str> views_;
  mutable belay_tensor tensor_view_{};
};

// A hook's state by key.
using StoredState = std::map<std::string, StoredValue>;

}  // namespace testing
}  // namespace v0
}  // namespace belay
