// SPDX-License-Identifier: Apache-2.0
// TensorFlow's FinalOpsHook: fetches values when a session ends without an error, and keeps them.
//
//   auto hook = std::make_unique<belay::FinalOps>(std::vector<belay::Output>{accuracy});
//   belay::FinalOps& final_ops = *hook;
//   options.hooks.push_back(own_hook("final_ops", std::move(hook)));
//   ...
//   final_ops.values()[0].scalar<float>();              // after the session has ended
//
// An error of the fetch leaves the session, like any error in `end`. The end of an input is a warning too, because the
// input has ended by then: fetch a metric's value, not its update. The plugin `final_ops` logs the values and writes
// them into a file. [session]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay {
inline namespace v0 {

// A class can derive from it, as the plugin does: set_ops in begin, values() in end after FinalOps::end.
class FinalOps : public Hook {
 public:
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // Takes tensors or operations to fetch, and feeds for that one run. The outputs belong to the session's graph.
  explicit FinalOps(std::vector<Output> ops = {}, Feeds feeds = {}) : ops_(std::move(ops)), feeds_(std::move(feeds)) {}

  // Copies of the values, in the order of the ops; an operation has no value. It is empty before the end, and if the
  // session ended with an error.
  const std::vector<Tensor>& values() const noexcept { return values_; }

  // Makes one run after the last step.
  void end(Session& session) override {
    if (ops_.empty()) return;
    const RunResult result = run(session);
    values_.clear();
    for (std::size_t i = 0; i < result.size(); ++i)
      values_.push_back(result[i].has_value() ? Tensor(result[i]) : Tensor());
  }

 protected:
  // Sets the ops, for a hook that finds them by name in begin.
  void set_ops(std::vector<Output> ops, Feeds feeds) { ops_ = std::move(ops), feeds_ = std::move(feeds); }
  const std::vector<Output>& ops() const noexcept { return ops_; }

 private:
  RunResult run(Session& session) const {
    try {
      return session.run({ops_.begin(), ops_.end()}, feeds_);
    } catch (const Error& e) {
      if (e.code() == Code::kOutOfRange || e.code() == Code::kStop)
        host().warning(std::string("the final ops depend on an input, and that has ended: ") + e.what() +
                       "; fetch values that need no input, such as a metric's value instead of its update");
      throw;
    }
  }

  std::vector<Output> ops_;
  Feeds feeds_;
  std::vector<Tensor> values_;
};

}  // namespace v0
}  // namespace belay
