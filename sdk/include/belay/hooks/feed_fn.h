// SPDX-License-Identifier: Apache-2.0
// TensorFlow's FeedFnHook, for a program that builds its own graph. It feeds the result of a function before every run.
//
//   session.hooks.push_back(own_hook("batches", std::make_unique<belay::FeedFn>([&] {
//     return belay::FeedFn::Feeds{{x, batches.next()}};
//   })));
//
// The function is called once before each run, also before a run that is repeated after a recovery. So it takes another
// value from its source then. It may throw; STOP ends the session. The plugin `feed_fn` feeds constants. [session]
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay {
inline namespace v0 {

// A hook that feeds. The run fails if two hooks feed the same output.
class FeedFn final : public Hook {
 public:
  // Outputs and their values of matching dtype and shape. They are usually placeholders, but any output may be fed.
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // Objects that the function captures by reference must outlive the session. INVALID_ARGUMENT: the function is empty.
  explicit FeedFn(std::function<Feeds()> feed_fn) : feed_fn_(std::move(feed_fn)) {
    if (!feed_fn_) fail(Code::kInvalidArgument, "FeedFn was given no function");
  }

  // Moves the values into the run's arguments, without a copy.
  RunArgs before_run(RunContext&) override {
    RunArgs args;
    for (auto& [output, value] : feed_fn_()) args.feed(output, std::move(value));
    return args;
  }

 private:
  std::function<Feeds()> feed_fn_;
};

}  // namespace v0
}  // namespace belay
