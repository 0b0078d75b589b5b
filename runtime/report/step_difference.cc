// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/step_difference.h"

#include <cmath>
#include <cstring>
#include <map>
#include <set>
#include <utility>

#include "runtime/checkpoint/stored/tensor_values.h"

namespace belay::runtime {
namespace {

// Maps numbers to integers in the same order, so that neighbours differ by 1. A positive number maps to its bits, a
// negative one to their negation.
template <class Bits, class Signed>
std::uint64_t distance(const void* a, const void* b, std::uint64_t element) {
  const auto ordered = [element](const void* data) {
    Bits bits;
    std::memcpy(&bits, static_cast<const char*>(data) + element * sizeof(Bits), sizeof(bits));
    constexpr Bits kSign = static_cast<Bits>(Bits{1} << (8 * sizeof(Bits) - 1));
    const auto magnitude = static_cast<Signed>(bits & static_cast<Bits>(~kSign));
    return (bits & kSign) != 0 ? static_cast<Signed>(-magnitude) : magnitude;
  };
  const auto x = static_cast<std::uint64_t>(static_cast<std::int64_t>(ordered(a)));
  const auto y = static_cast<std::uint64_t>(static_cast<std::int64_t>(ordered(b)));
  return static_cast<std::int64_t>(x) > static_cast<std::int64_t>(y) ? x - y : y - x;
}

class StepComparison {
 public:
  StepComparison(const StepFiles& a, const StepFiles& b) : a_(a), b_(b) {
    for (const ListedTensor& t : a_.list) of_a_.emplace(t.name, &t);
    for (const ListedTensor& t : b_.list) of_b_.emplace(t.name, &t);
    for (TensorInfo& t : a_.tensors.tensors()) forms_a_.emplace(t.name, std::move(t));
    for (TensorInfo& t : b_.tensors.tensors()) forms_b_.emplace(t.name, std::move(t));
  }

  StepDifference compare() {
    std::vector<TensorInfo> both;
    for (const ListedTensor& t : a_.list) {
      if (!t.is_kept()) continue;
      const auto form_a = forms_a_.find(t.name), form_b = forms_b_.find(t.name);
      if (form_a == forms_a_.end()) continue;
      if (form_b == forms_b_.end())
        found_.one_sided.push_back({t.known_name(), t.ops, true});
      else if (form_a->second != form_b->second || !is_readable(form_a->second))
        other_form_.insert(t.name);
      else
        both.push_back(form_a->second);
    }
    for (const ListedTensor& t : b_.list)
      if (t.is_kept() && forms_b_.contains(t.name) && !forms_a_.contains(t.name))
        found_.one_sided.push_back({t.known_name(), t.ops, false});
    std::map<std::string, DifferingTensor> values;
    read_two({a_.tensors, a_.saver}, {b_.tensors, b_.saver}, both, [&](const NamedTensor& x, const NamedTensor& y) {
      const TensorDifference d = difference_of(x.tensor, y.tensor);
      if (d.count != 0) values.emplace(x.name, with_values(x.name, x.tensor, y.tensor, d));
    });
    found_.compared = both.size() + other_form_.size();
    for (const ListedTensor& t : a_.list) {
      const auto of_values = values.find(t.name);
      if (of_values == values.end() && !other_form_.contains(t.name)) continue;
      differing_.insert(t.name);
      if (found_.first)
        found_.later.push_back(t.known_name());
      else
        found_.first = of_values == values.end() ? described(t.name) : of_values->second;
    }
    found_.equal = found_.compared - differing_.size();
    if (found_.first) add_inputs(*found_.first);
    return std::move(found_);
  }

 private:
  DifferingTensor described(const std::string& name) const {
    const ListedTensor &of_a = *of_a_.at(name), &of_b = *of_b_.at(name);
    DifferingTensor d;
    d.name = name;
    d.node = name.substr(0, name.rfind(':'));
    d.known_name = of_a.known_name();
    d.origin = of_a.origin;
    d.ops_a = of_a.ops;
    d.ops_b = of_b.ops;
    d.form_a = form_text(forms_a_.at(name));
    d.form_b = form_text(forms_b_.at(name));
    return d;
  }

  DifferingTensor with_values(const std::string& name, const TensorView& x, const TensorView& y,
                              const TensorDifference& difference) const {
    DifferingTensor d = described(name);
    d.elements = x.size();
    d.differing = difference.count;
    d.position = position_text(x, difference.first);
    d.a = element_text(x, difference.first);
    d.b = element_text(y, difference.first);
    d.ulps = ulps_between(x, y, difference.first);
    return d;
  }

  // Adds the inputs that either side names. A fused step reads the inputs of its nodes.
  void add_inputs(DifferingTensor& d) const {
    std::set<std::string> named;
    for (const ListedTensor* side : {of_a_.at(d.name), of_b_.at(d.name)})
      for (const std::string& in : side->inputs) {
        if (!named.insert(in).second) continue;
        const bool both = forms_a_.contains(in) && forms_b_.contains(in);
        const auto listed = of_a_.find(in);
        d.inputs.push_back({listed == of_a_.end() ? in : listed->second->known_name(),
                            !both                     ? ComparedInput::State::kOnOneSide
                            : differing_.contains(in) ? ComparedInput::State::kDiffers
                                                      : ComparedInput::State::kEqual});
      }
  }

  const StepFiles &a_, &b_;
  std::map<std::string, const ListedTensor*> of_a_, of_b_;
  std::map<std::string, TensorInfo> forms_a_, forms_b_;
  std::set<std::string> other_form_, differing_;
  StepDifference found_;
};

}  // namespace

std::optional<std::uint64_t> ulps_between(const TensorView& a, const TensorView& b, std::uint64_t element) {
  const DType dtype = a.dtype();
  const bool wide = dtype == DType::kFloat64, narrow = dtype == DType::kFloat16 || dtype == DType::kBFloat16;
  if (!wide && !narrow && dtype != DType::kFloat32) return std::nullopt;
  if (std::isnan(a.number(element)) || std::isnan(b.number(element))) return std::nullopt;
  const void *x = a.raw().data, *y = b.raw().data;
  if (wide) return distance<std::uint64_t, std::int64_t>(x, y, element);
  return narrow ? distance<std::uint16_t, std::int16_t>(x, y, element)
                : distance<std::uint32_t, std::int32_t>(x, y, element);
}

StepDifference difference_of_steps(const StepFiles& a, const StepFiles& b) { return StepComparison(a, b).compare(); }

}  // namespace belay::runtime
