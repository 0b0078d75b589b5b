// SPDX-License-Identifier: Apache-2.0
// Goes over an input again and again in one session, as evaluations do: each pass begins at the input's start, in the
// same queue, filled by the same thread.
//
//   InputPasses passes(feed, session, graph);   // instead of starting the feed's queue runner
//   passes.begin();
//   while (passes.more(cancel)) session->run(request);
//   passes.end();                               // also in the middle; nothing of this pass is left for the next one
//
// begin and end allocate nothing after the first pass. [one thread]
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "runtime/data/input_feed.h"

namespace belay::runtime {

class InputPasses {
 public:
  // `keeps` is what the session needs and a thread that cannot be joined would still use: its graph.
  InputPasses(std::shared_ptr<InputFeed> feed, std::shared_ptr<DirectSession> session,
              std::shared_ptr<const void> keeps, double grace_secs);
  // Ends the pass. A thread that is still inside the input after the grace period is left alone.
  ~InputPasses();
  InputPasses(const InputPasses&) = delete;
  InputPasses& operator=(const InputPasses&) = delete;

  // FAILED_PRECONDITION while the input has not come back from an earlier pass; what its seek fails with.
  void begin();
  // Waits for the next batch; false at the input's end. What the input fails with is thrown.
  bool more(const CancelToken& cancel);
  // Waits for the input at most for the grace period.
  void end() noexcept;

 private:
  struct Shared {
    std::shared_ptr<InputFeed> feed;
    std::shared_ptr<const void> keeps;
    std::shared_ptr<DirectSession> session;
    std::mutex mutex;
    std::condition_variable changed;
    bool filling = false;
    bool quits = false;
  };
  static void fill(Shared& shared);

  const std::shared_ptr<Shared> shared_;
  const double grace_secs_;
  std::optional<Thread> thread_;  // made by the first pass
};

}  // namespace belay::runtime
