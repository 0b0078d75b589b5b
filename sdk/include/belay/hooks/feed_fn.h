// SPDX-License-Identifier: Apache-2.0
// TensorFlow's FeedFnHook, for a program with a graph of its own: feeds what a function returns before every run.
//
//   session.hooks.push_back(own_hook("batches", std::make_unique<belay::FeedFn>([&] {
//     return belay::FeedFn::Feeds{{x, batches.next()}};
//   })));
//
// The function is called once before each run, also before one that is repeated after a recovery: what it takes from a
// source is then taken again. It may throw; STOP ends the session. The plugin `feed_fn` feeds
// constants. [session]
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay {
inline namespace v0 {

// Two hooks that feed the same output are an error of the run.
class FeedFn final : public Hook {
 public:
  // Outputs and their values of matching dtype and shape; usually placeholders, but any output may be fed.
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  // INVALID_ARGUMENT for an empty function. What it captures by reference must outlive the session.
  explicit FeedFn(std::function<Feeds()> feed_fn) : feed_fn_(std::move(feed_fn)) {
    if (!feed_fn_) fail(Code::kInvalidArgument, "FeedFn was given no function");
  }

  // The values are moved into the run's arguments, not copied.
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
