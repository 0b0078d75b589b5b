// SPDX-License-Identifier: Apache-2.0
// The first step of a replay that is not finite, and in it the first tensor: a divergence began there.
//
//   FirstNonFinite search;
//   watch_hook(model, environment, [&](const WatchedStep& s) { return search.look(s) ? "found" : ""; })
//
// A step is the first one if the loss, or a variable after it, is not finite. Its first tensor is the first in the
// plan's order that has a NaN or an infinity. If the first step of the search ended well, tensors that were not finite
// in it do not count: a mask of minus infinities is no fault. A tensor with such a value in an earlier step, without
// consequences there, is reported too. [session]
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/checkpoint/format/content.h"
#include "runtime/estimator/steps/step_watch.h"

namespace belay::runtime {

struct NonFiniteTensor {
  std::int64_t step = 0;
  StepTensor tensor;
  TensorInfo form;
  std::uint64_t element = 0, count = 0;  // the first such element, and how many there are
  std::string value, position;           // of that element: "nan", "[3, 0]"
};

// An input of the first one.
struct NodeInput {
  TensorInfo form;  // by the name that people know
  bool finite = true;
};

class FirstNonFinite {
 public:
  // Returns true if this is the step. Every later call is of a later step; there is none after that.
  bool look(const WatchedStep& step);

  // ---- if look() returned true
  const NonFiniteTensor& first() const { return *first_; }
  const std::vector<NodeInput>& inputs() const { return inputs_; }
  // Returns places in the step's list, for an archive of them: the first one and its inputs, each once.
  std::vector<std::size_t> places(const WatchedStep& step) const;
  // The consequence as a clause, such as "the loss is nan, and 3 of 8 variables are not finite ...".
  const std::string& consequence() const { return consequence_; }
  // A tensor in an earlier step; none: there was none.
  const std::optional<NonFiniteTensor>& earlier() const { return earlier_; }

  // The number of tensors that were left out, since they were infinite from the beginning.
  std::size_t usual() const { return usual_.size(); }
  std::int64_t steps() const { return steps_; }

 private:
  std::string consequence_of(const WatchedStep& step, const std::vector<std::size_t>& bad) const;

  std::set<std::uint64_t> usual_;  // by port
  std::int64_t steps_ = 0;
  std::size_t place_ = 0;
  std::optional<NonFiniteTensor> first_, earlier_;
  std::vector<NodeInput> inputs_;
  std::string consequence_;
};

}  // namespace belay::runtime
