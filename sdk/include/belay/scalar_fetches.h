// SPDX-License-Identifier: Apache-2.0
// The scalars that an option of a hook names ("loss", "eval/accuracy", "learning_rate"), to be fetched and read as
// numbers.
//
//   belay::ScalarFetches scalars_{options.tensors};
//   void begin(belay::Graph& graph) override { scalars_.begin(graph, "my_hook"); }
//   ... belay::RunArgs args; scalars_.add_to(args); return args; ...                        in before_run
//   ... for (std::size_t i = 0; i < scalars_.size(); ++i) use(scalars_.name(i), scalars_.value(values, i)); ...
//
// A member of a hook, [session]. Up to eight fetches of a run, the global step among them, need no memory.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "belay/options.h"
#include "belay/session.h"

namespace belay {
inline namespace v0 {

class ScalarFetches {
 public:
  // Names as Graph::find has them, copied. None at all is INVALID_ARGUMENT.
  explicit ScalarFetches(const List<Str>& names) {
    for (const Str& name : names) names_.emplace_back(name);
    check();
  }
  explicit ScalarFetches(std::vector<std::string> names) : names_(std::move(names)) { check(); }

  // In Hook::begin. NOT_FOUND where the graph has no such name, with the nearest one; INVALID_ARGUMENT for what is no
  // number or has dimensions. `hook` begins the message.
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

  std::size_t size() const noexcept { return names_.size(); }
  // As the option has it.
  const std::string& name(std::size_t i) const noexcept { return names_[i]; }
  const std::vector<std::string>& names() const noexcept { return names_; }
  // In before_run: asks for all of them.
  void add_to(RunArgs& args) const {
    for (const Output& output : outputs_) args.fetch(output);
  }
  // In after_run of a run that was asked for them; of any numeric dtype, as a double. INVALID_ARGUMENT where a shape
  // that the graph left open was not that of a scalar.
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
