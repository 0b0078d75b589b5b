// SPDX-License-Identifier: Apache-2.0
// Reads an input again and again in one session, for evaluations. Each pass begins at the input's start, in the same
// queue, and the same thread fills it.
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
  // `keeps` is the session's graph. A thread that cannot be joined would still use it.
  InputPasses(std::shared_ptr<InputFeed> feed, std::shared_ptr<DirectSession> session,
              std::shared_ptr<const void> keeps, double grace_secs);
  // Ends the pass. If a thread is still inside the input after the grace period, it is left alone.
  ~InputPasses();
  InputPasses(const InputPasses&) = delete;
  InputPasses& operator=(const InputPasses&) = delete;

  // FAILED_PRECONDITION: an earlier pass of the input has not ended. Other errors are those of its seek.
  void begin();
  // Waits for the next batch; false: the input's end. Throws the input's error.
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
  std::optional<Thread> thread_;  // the first pass makes it
};

}  // namespace belay::runtime
