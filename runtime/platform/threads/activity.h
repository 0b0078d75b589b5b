// SPDX-License-Identifier: Apache-2.0
// Publishes a thread's current activity for another thread that looks from time to time. So the use of a run's time is
// known, and no step reads a clock for it.
//
//   PublishedActivity activity;                              // of the thread that makes the steps
//   const PublishesActivity publishing(activity);            // there
//   { const Doing doing(Activity::kSaving); ... }            // wherever that thread comes by
//   activity.load()                                          // another thread
//
// If one activity is inside another, the outer one counts: an evaluation that waits for its input evaluates. A thread
// that publishes nothing only reads a pointer.
#pragma once

#include <atomic>
#include <cstdint>

namespace belay::runtime {

// kOtherRanks: exchanging values with the other processes of a training, also waiting for them.
enum class Activity : int { kComputing, kInputWait, kSaving, kEvaluating, kOtherRanks };
constexpr int kActivities = 5;

using PublishedActivity = std::atomic<Activity>;

// An observer gets each activity exactly, with its times, for a trace. The publishing thread calls it.
class ActivityObserver {
 public:
  virtual ~ActivityObserver() = default;
  virtual std::int64_t now_ns() noexcept = 0;
  // Reports an activity from start_ns, a value of now_ns(), until now.
  virtual void did(Activity activity, std::int64_t start_ns) noexcept = 0;
};

// While it lives, `observer` is this thread's observer, borrowed.
class ObservesActivity {
 public:
  explicit ObservesActivity(ActivityObserver* observer) noexcept : before_(observer_) { observer_ = observer; }
  ~ObservesActivity() { observer_ = before_; }
  ObservesActivity(const ObservesActivity&) = delete;
  ObservesActivity& operator=(const ObservesActivity&) = delete;

 private:
  friend class Doing;
  static inline thread_local constinit ActivityObserver* observer_ = nullptr;
  ActivityObserver* const before_;
};

// While it lives, this thread's activity is published in `place`.
class PublishesActivity {
 public:
  explicit PublishesActivity(PublishedActivity& place) noexcept : before_(place_) {
    place.store(Activity::kComputing, std::memory_order_relaxed);
    place_ = &place;
  }
  ~PublishesActivity() { place_ = before_; }
  PublishesActivity(const PublishesActivity&) = delete;
  PublishesActivity& operator=(const PublishesActivity&) = delete;

 private:
  friend class Doing;
  static inline thread_local constinit PublishedActivity* place_ = nullptr;
  PublishedActivity* const before_;
};

class Doing {
 public:
  explicit Doing(Activity activity) noexcept : place_(PublishesActivity::place_) {
    if (place_ == nullptr) return;
    if (place_->load(std::memory_order_relaxed) != Activity::kComputing) {
      place_ = nullptr;
    } else {
      place_->store(activity, std::memory_order_relaxed);
      observer_ = ObservesActivity::observer_;
      if (observer_ != nullptr) start_ns_ = observer_->now_ns();
    }
  }
  ~Doing() {
    if (place_ == nullptr) return;
    if (observer_ != nullptr) observer_->did(place_->load(std::memory_order_relaxed), start_ns_);
    place_->store(Activity::kComputing, std::memory_order_relaxed);
  }
  Doing(const Doing&) = delete;
  Doing& operator=(const Doing&) = delete;

 private:
  PublishedActivity* place_;
  ActivityObserver* observer_ = nullptr;
  std::int64_t start_ns_ = 0;
};

}  // namespace belay::runtime
