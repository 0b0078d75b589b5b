// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_passes.h"

#include <fmt/core.h>

#include <chrono>

namespace belay::runtime {

InputPasses::InputPasses(std::shared_ptr<InputFeed> feed, std::shared_ptr<DirectSession> session,
                         std::shared_ptr<const void> keeps, double grace_secs)
    : shared_(std::make_shared<Shared>()), grace_secs_(grace_secs) {
  shared_->feed = std::move(feed);
  shared_->session = std::move(session);
  shared_->keeps = std::move(keeps);
}

InputPasses::~InputPasses() {
  end();
  {
    const std::lock_guard lock(shared_->mutex);
    shared_->quits = true;
    shared_->changed.notify_all();
    if (shared_->filling) return;
  }
  if (thread_) thread_->join_for(static_cast<std::int64_t>(grace_secs_ * 1e9));
}

void InputPasses::begin() {
  if (!thread_) thread_.emplace("QueueRunnerThread-" + shared_->feed->name(), [shared = shared_] { fill(*shared); });
  const std::lock_guard lock(shared_->mutex);
  if (shared_->filling)
    fail(Code::kFailedPrecondition,
         fmt::format("[B3006] '{}' cannot begin again: its input has not come back from the last pass",
                     shared_->feed->name()));
  shared_->feed->rewind();
  shared_->feed->queue_of(*shared_->session).reopen();
  shared_->session->store().replace_positions({});
  shared_->filling = true;
  shared_->changed.notify_all();
}

bool InputPasses::more(const CancelToken& cancel) {
  return shared_->feed->queue_of(*shared_->session).wait_for_element(cancel);
}

void InputPasses::end() noexcept {
  std::unique_lock lock(shared_->mutex);
  if (!shared_->filling) return;
  shared_->feed->queue_of(*shared_->session).close(true);
  // It waits in real time, like a coordinator's join. A plugin returns in real time even if a test's clock does not
  // move.
  shared_->changed.wait_for(lock, std::chrono::duration<double>(grace_secs_), [&] { return !shared_->filling; });
}

void InputPasses::fill(Shared& shared) {
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] { return shared.filling || shared.quits; });
    if (!shared.filling) return;
    lock.unlock();
    shared.feed->fill_queue(*shared.session);
    lock.lock();
    shared.filling = false;
    shared.changed.notify_all();
  }
}

}  // namespace belay::runtime
