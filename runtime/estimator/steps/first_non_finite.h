// SPDX-License-Identifier: Apache-2.0
// The first step of a replay, and in it the first tensor, that is not finite: where a divergence began.
//
//   FirstNonFinite search;
//   watch_hook(model, environment, [&](const WatchedStep& s) { return search.look(s) ? "found" : ""; })
//
// A step is the first one if the loss, or a variable after it, is not finite. The first tensor of it is the first
// in the plan's order that has a NaN or an infinity, but for those that had one in the first step that was looked at,
// if that one ended well: a mask of minus infinities is as it should be. One that has such a value in an earlier step,
// and nothing came of it there, is said beside. [session]
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
  // True: this is the step. Every later call is of a later step; none after that.
  bool look(const WatchedStep& step);

  // ---- if look() returned true
  const NonFiniteTensor& first() const { return *first_; }
  const std::vector<NodeInput>& inputs() const { return inputs_; }
  // Places in the step's list, for an archive of them: the first one and its inputs, each once.
  std::vector<std::size_t> places(const WatchedStep& step) const;
  // "the loss is nan, and 3 of 8 variables are not finite behind the step"
  const std::string& consequence() const { return consequence_; }
  // In an earlier step; none: there was none.
  const std::optional<NonFiniteTensor>& earlier() const { return earlier_; }

  // How many tensors were left out since they were infinite from the beginning.
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
