// SPDX-License-Identifier: Apache-2.0
// The scalars that an option of a hook names ("loss", "eval/accuracy", "learning_rate"), fetched and read as numbers.
//
//   belay::ScalarFetches scalars_{options.tensors};
//   void begin(belay::Graph& graph) override { scalars_.begin(graph, "my_hook"); }
//   ... belay::RunArgs args; scalars_.add_to(args); return args; ...                        in before_run
//   ... for (std::size_t i = 0; i < scalars_.size(); ++i) use(scalars_.name(i), scalars_.value(values, i)); ...
//
// It is a member of a hook, [session]. Up to eight fetches of a run, the global step included, need no allocation.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "belay/options.h"
#include "belay/session.h"

namespace belay {
inline namespace v0 {

// Names from an option, and their outputs in a graph after begin.
class ScalarFetches {
 public:
  // Takes names for Graph::find and copies them. INVALID_ARGUMENT: there is no name.
  explicit ScalarFetches(const List<Str>& names) {
    for (const Str& name : names) names_.emplace_back(name);
    check();
  }
  explicit ScalarFetches(std::vector<std::string> names) : names_(std::move(names)) { check(); }

  // Call it in Hook::begin. `hook` begins the messages. NOT_FOUND, with the nearest name: the graph has no such name.
  // INVALID_ARGUMENT: the output is not a number or has dimensions.
  void begin(const Graph& graph, std::string_view hook) {
    hook_ = hook;
    outputs_.clear();
    for (const std::string& name : names_) {
      const Output output = graph.find(name);
      if (output.is_operation() || output.rank() > 0 || output.dtype() == DType::kString)
        fail(Code::kInvalidArgument, hook_ + " takes scalar numbers, " + output.text() + " is none");
      outputs_.push_back(graph.fetch(output));
    }
  }

  // Number of scalars.
  std::size_t size() const noexcept { return names_.size(); }
  // Name i, and all names, as in the option. i < size() is not checked.
  const std::string& name(std::size_t i) const noexcept { return names_[i]; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  // Call it in before_run: asks for all scalars.
  void add_to(RunArgs& args) const {
    for (const Output& output : outputs_) args.fetch(output);
  }
  // Call it in after_run of a run that fetched them: scalar i of any numeric dtype as a double. INVALID_ARGUMENT: the
  // graph left its shape open, and it was not a scalar in this run.
  double value(const RunValues& values, std::size_t i) const {
    const TensorView value = values[outputs_[i]];
    if (value.size() != 1)
      fail(Code::kInvalidArgument,
           hook_ + " takes scalars, " + outputs_[i].text() + " had the shape " + dims_text(value.dims()));
    return value.number(0);
  }

 private:
  void check() const {
    if (names_.empty()) fail(Code::kInvalidArgument, "'tensors' is empty: name at least one scalar");
  }

  std::vector<std::string> names_;
  std::vector<Output> outputs_;
  std::string hook_;
};

}  // namespace v0
}  // namespace belay
