// SPDX-License-Identifier: Apache-2.0
// A hook that leaves things which a library should clean up, or takes things that are its host's: for tests of how a
// run ends.
#include <belay/plugin.h>
#include <pthread.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>
#include <thread>

namespace {

// Used by its own destructor, by a thread's and by the handler of exit.
struct Names {
  std::map<int, std::string> all{{1, "one"}};
  ~Names() {
    for (auto& [key, name] : all) name += std::to_string(key);
    all.clear();
  }
};
Names names;

struct OfAThread {
  std::string text = "of this thread";
  ~OfAThread() { text += names.all.empty() ? ", late" : ", in time"; }
};
thread_local OfAThread of_a_thread;

void work_for_ever() {
  std::atomic<long> rounds{0};
  for (;;) {
    ++rounds;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

void leave(const std::string& what) {
  if (what == "a detached thread") std::thread(work_for_ever).detach();
  if (what == "a thread that is not joined") new std::thread(work_for_ever);  // NOLINT: never joined, so never freed
  if (what == "a thread_local") of_a_thread.text += "!";
  if (what == "a handler of exit") std::atexit([] { names.all[2] = "two"; });
  if (what == "a thread's key") {
    pthread_key_t key;
    if (pthread_key_create(&key, [](void* text) { delete static_cast<std::string*>(text); }) == 0)
      pthread_setspecific(key, new std::string("kept"));
  }
  if (what == "signals") {
    for (const int s : {SIGTERM, SIGINT}) std::signal(s, SIG_IGN);
  }
}

class Leftovers final : public belay::Hook {
 public:
  struct Options {
    belay::Str leaves;
  };
  static constexpr auto about =
      belay::about("leftovers", "Leaves things behind", belay::option("leaves", &Options::leaves, "what").watching());
  explicit Leftovers(const Options& options) : leaves_(options.leaves) {}
  void after_create_session(belay::Session&) override { leave(leaves_); }

 private:
  const std::string leaves_;
};

}  // namespace

BELAY_MODULE("1.0.0", Leftovers)
