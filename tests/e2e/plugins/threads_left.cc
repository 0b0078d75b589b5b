// SPDX-License-Identifier: Apache-2.0
// Hooks whose threads end otherwise than their session: one that calls its host too late, one that fails, one that ends
// long before.
#include <belay/plugin.h>

#include <atomic>
#include <thread>

namespace {

// Two instances: the one that is destroyed first leaves a running thread, and the other one waits until that has
// called.
class LateCaller final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("late_caller", "Logs after its destroy");

  LateCaller() { ++alive(); }
  ~LateCaller() override {
    if (--alive() == 0) {
      while (!called()) std::this_thread::yield();
      return;
    }
    std::thread([host = &host(), api = host().services().core, raw = host().raw()] {
      while (!called()) {  // until the destroy of this instance is over
        api.log(raw, BELAY_LOG_INFO, belay_str{"late", 4});
        api.log(raw, BELAY_LOG_INFO, belay_str{"later", 5});
        if (api.instance_name(raw).size == 0) called() = true;
        std::this_thread::yield();
      }
    }).detach();
  }

 private:
  static std::atomic<int>& alive() {
    static std::atomic<int> n{0};
    return n;
  }
  static std::atomic<bool>& called() {
    static std::atomic<bool> is{false};
    return is;
  }
};

class ThreadEnds final : public belay::Hook {
 public:
  struct Options {
    bool fails = false;
  };
  static constexpr auto about =
      belay::about("thread_ends", "Has a thread that the session joins",
                   belay::option("fails", &Options::fails, "whether it ends with an error").watching());
  explicit ThreadEnds(const Options& o) : o_(o) {}

  void after_create_session(belay::Session& session) override {
    session.coordinator().register_thread("uploader", *this);
    if (o_.fails) return;
    session.coordinator().unregister_thread(*this);
    host().info("the session has forgotten it");
  }
  bool join(std::chrono::nanoseconds) {
    if (o_.fails) belay::fail(belay::Code::kDataLoss, "the last part was not sent");
    return false;  // would hold the session up
  }

 private:
  const Options o_;
};

}  // namespace

BELAY_MODULE("1.0.0", LateCaller, ThreadEnds)
