// SPDX-License-Identifier: Apache-2.0
// TensorFlow's FeedFnHook, for a program with a graph of its own: feeds what a function gives before every run.
//
//   session.hooks.push_back(own_hook("batches", std::make_unique<belay::FeedFn>([&] {
//     return belay::FeedFn::Feeds{{x, batches.next()}};
//   })));
//
// The function is called once before each run, also before one that is repeated after a recovery: what it takes from a
// source is then taken again. It may throw; STOP or OUT_OF_RANGE ends the session. The plugin `feed_fn` feeds
// constants. [session]
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "belay/hook.h"

namespace belay {
inline namespace v0 {

class FeedFn final : public Hook {
 public:
  using Feeds = std::vector<std::pair<Output, Tensor>>;

  explicit FeedFn(std::function<Feeds()> feed_fn) : feed_fn_(std::move(feed_fn)) {
    if (!feed_fn_) fail(Code::kInvalidArgument, "FeedFn was given no function");
  }

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
