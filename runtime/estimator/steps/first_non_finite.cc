// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/steps/first_non_finite.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>

#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/checkpoint/stored/tensor_values.h"

namespace belay::runtime {
namespace {

std::optional<std::uint64_t> bad_element(const TensorView& tensor) {
  return tensor.bytes() == 0 ? std::nullopt : digest(tensor.raw()).non_finite;
}

NonFiniteTensor describe(const WatchedStep& step, std::size_t place, std::uint64_t element) {
  const StepTensor& tensor = step.tensors[place];
  const TensorView value = step.value(place);
  return {step.step,
          tensor,
          {tensor.known_name(), value.dtype(), value.dims()},
          element,
          statistics_of(value).non_finite,
          element_text(value, element),
          position_text(value, element)};
}

}  // namespace

std::string FirstNonFinite::consequence_of(const WatchedStep& step, const std::vector<std::size_t>& bad) const {
  std::size_t written = 0;
  for (const StepTensor& t : step.tensors) written += t.origin == TensorOrigin::kWritten ? 1 : 0;
  const auto lost = static_cast<std::size_t>(std::count_if(
      bad.begin(), bad.end(), [&](std::size_t i) { return step.tensors[i].origin == TensorOrigin::kWritten; }));
  const bool loss = std::find(bad.begin(), bad.end(), step.loss) != bad.end();
  std::string text;
  if (loss) text = "the loss is " + element_text(step.value(step.loss), 0);
  if (lost == 0) return text;
  return fmt::format("{}{}{} of {} variables {} not finite after the step", text, loss ? ", and " : "", lost, written,
                     lost == 1 ? "is" : "are");
}

bool FirstNonFinite::look(const WatchedStep& step) {
  std::vector<std::size_t> bad;
  std::vector<std::uint64_t> elements;
  for (std::size_t i = 0; i < step.tensors.size(); ++i)
    if (const auto element = bad_element(step.value(i))) {
      bad.push_back(i);
      elements.push_back(*element);
    }
  const std::string consequence = consequence_of(step, bad);
  if (steps_++ == 0 && consequence.empty())
    for (const std::size_t i : bad) usual_.insert(port_key(step.tensors[i].port));
  for (std::size_t i = 0; i < bad.size(); ++i) {
    if (usual_.contains(port_key(step.tensors[bad[i]].port))) continue;
    NonFiniteTensor found = describe(step, bad[i], elements[i]);
    if (consequence.empty()) {
      if (!earlier_) earlier_ = std::move(found);
      return false;
    }
    first_ = std::move(found);
    place_ = bad[i];
    consequence_ = consequence;
    for (const std::size_t in : first_->tensor.inputs) {
      const TensorView value = step.value(in);
      inputs_.push_back({{step.tensors[in].known_name(), value.dtype(), value.dims()},
                         std::find(bad.begin(), bad.end(), in) == bad.end()});
    }
    return true;
  }
  return false;
}

std::vector<std::size_t> FirstNonFinite::places(const WatchedStep& step) const {
  std::vector<std::size_t> places{place_};
  for (const std::size_t in : step.tensors[place_].inputs)
    if (std::find(places.begin(), places.end(), in) == places.end()) places.push_back(in);
  return places;
}

}  // namespace belay::runtime
