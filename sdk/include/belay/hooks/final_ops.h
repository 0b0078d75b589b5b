// SPDX-License-Identifier: Apache-2.0
// TensorFlow's FinalOpsHook: fetches once more when a session ends well, and keeps the values.
//
//   auto hook = std::make_unique<belay::FinalOps>(std::vector<belay::Output>{accuracy});
//   belay::FinalOps& final_ops = *hook;
//   options.hooks.push_back(own_hook("final_ops", std::move(hook)));
//   ...
//   final_ops.values()[0].scalar<float>();              // after the session has ended
//
// An error of the fetch leaves the session, as any in `end` does; an end of input among them is a warning too, since
// the input has ended by then: fetch what a metric has counted, not the operation that counts. The plugin `final_ops`
// logs the values and writes them into a file. [session]
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay {
inline namespace v0 {

// May be derived from, as the plugin is: set_ops in begin, values() in end after FinalOps::end.
class FinalOps : public Hook {
 public:
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // What to fetch, tensors or operations, and what to feed in that one run. The outputs belong to the session's graph.
  explicit FinalOps(std::vector<Output> ops = {}, Feeds feeds = {}) : ops_(std::move(ops)), feeds_(std::move(feeds)) {}

  // Copies, in the order of the ops; that of an operation has no value. Empty before the end, and where the session
  // ended by an error.
  const std::vector<Tensor>& values() const noexcept { return values_; }

  // One run of its own, after the last step.
  void end(Session& session) override {
    if (ops_.empty()) return;
    const RunResult result = run(session);
    values_.clear();
    for (std::size_t i = 0; i < result.size(); ++i)
      values_.push_back(result[i].has_value() ? Tensor(result[i]) : Tensor());
  }

 protected:
  // For a hook that finds its ops by name in begin.
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
