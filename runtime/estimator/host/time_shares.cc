// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/host/time_shares.h"

#include <fmt/core.h>

#include <pthread.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <fstream>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kLookNs = 10'000'000;
constexpr double kWindowSecs = 10;
constexpr std::int64_t kPauseNs = 600'000'000'000;

clockid_t clock_of_this_thread() {
  clockid_t clock{};
  return ::pthread_getcpuclockid(::pthread_self(), &clock) == 0 ? clock : CLOCK_PROCESS_CPUTIME_ID;
}

double seconds_of(clockid_t clock) {
  timespec t{};
  ::clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

// The bytes of the process in the machine's memory; 0: not known.
double memory_bytes() {
  std::ifstream file("/proc/self/statm");
  double total = 0, resident = 0;
  file >> total >> resident;
  return file ? resident * static_cast<double>(::sysconf(_SC_PAGESIZE)) : 0;
}

std::string percent(double part) { return fmt::format("{}%", std::lround(part * 100)); }

}  // namespace

double Shares::of_hooks() const {
  std::int64_t n = 0;
  for (const auto& hook : hooks) n += hook.second;
  return part(n);
}

std::optional<std::pair<std::string, double>> Shares::slowest_hook() const {
  const auto slowest =
      std::max_element(hooks.begin(), hooks.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (slowest == hooks.end() || slowest->second == 0) return std::nullopt;
  return std::pair{slowest->first, part(slowest->second)};
}

std::string Shares::text() const {
  std::string text = "training " + percent(of(Activity::kComputing)) + ", input wait " +
                     percent(of(Activity::kInputWait)) + ", hooks " + percent(of_hooks());
  if (const auto slowest = slowest_hook())
    text += " (slowest " + escaped(slowest->first) + " " + percent(slowest->second) + ")";
  text += ", saving " + percent(of(Activity::kSaving)) + ", evaluation " + percent(of(Activity::kEvaluating));
  if (of(Activity::kOtherRanks) > 0) text += ", other ranks " + percent(of(Activity::kOtherRanks));
  return text;
}

Shares Shares::since(const Shares& earlier) const {
  Shares window = *this;
  window.looks -= earlier.looks;
  for (std::size_t i = 0; i < window.by_activity.size(); ++i) window.by_activity[i] -= earlier.by_activity[i];
  for (std::size_t i = 0; i < earlier.hooks.size(); ++i) window.hooks[i].second -= earlier.hooks[i].second;
  window.seconds -= earlier.seconds;
  window.cpu_seconds -= earlier.cpu_seconds;
  return window;
}

std::string why_slow(const Shares& window) {
  constexpr double kMuch = 0.25, kHalf = 0.5;
  constexpr double kFarLonger = 2;  // by the clock than by processor time
  if (window.of(Activity::kInputWait) > kMuch)
    return "the training waits for its input " + percent(window.of(Activity::kInputWait)) +
           " of the time: raise decode_threads of [input.train], if its plugin has that, put the data on a faster "
           "disk, "
           "or store it in a form that is cheaper to read";
  if (window.of(Activity::kSaving) > kMuch)
    return "the training waits for its checkpoints " + percent(window.of(Activity::kSaving)) +
           " of the time: the disk is slow for how often it saves; raise save_secs or save_steps of [checkpoint], or "
           "set "
           "run.dir to a faster disk";
  if (window.of(Activity::kOtherRanks) > kHalf)
    return "the ranks exchange gradients, and wait for each other, " + percent(window.of(Activity::kOtherRanks)) +
           " of the time: raise batch_size of [input.train], give each rank its own cores, or join them by a faster "
           "network";
  if (const auto hook = window.slowest_hook(); hook && hook->second > kMuch)
    return "the hook \"" + escaped(hook->first) + "\" takes " + percent(hook->second) +
           " of the time: let it work in fewer steps (every_n_steps or the like), or take it out of [[hooks]]";
  const double computing = (window.of(Activity::kComputing) + window.of_hooks()) * window.seconds;
  if (computing > window.seconds * kMuch && computing > kFarLonger * window.cpu_seconds)
    return fmt::format(
        "the machine is busy: steps take {} times as long by the clock as they compute; end what else runs here, or "
        "lower [run] threads to the processors that are free",
        std::lround(computing / std::max(window.cpu_seconds, computing * 1e-3)));
  return "";
}

TimeShares::TimeShares(RunHost& run, EventWriter* events)
    : run_(run),
      monitor_(run.monitor()),
      clock_(run.clock()),
      log_(run.log()),
      events_(events),
      cpu_clock_(clock_of_this_thread()) {}

TimeShares::~TimeShares() { stop(); }

void TimeShares::start() {
  start_ns_ = clock_.monotonic_ns();
  start_cpu_ = seconds_of(cpu_clock_);
  try {
    thread_.start([this] { run(); });
  } catch (const std::exception& e) {
    log_.warning("", std::string("what the time goes into is not known: ") + e.what());
  }
}

void TimeShares::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.wait();
  // This window is the rest of a run, or all of a short one.
  const Shares now = shares();
  if (now.looks > window_start_.looks) write_events(now.since(std::exchange(window_start_, now)));
}

void TimeShares::look() {
  const PluginInstance* instance = monitor_.instance.load();
  const Activity activity = activity_.load(std::memory_order_relaxed);
  const std::lock_guard lock(mutex_);
  ++shares_.looks;
  if (instance == nullptr || activity != Activity::kComputing) {
    ++shares_.by_activity[static_cast<std::size_t>(activity)];
    return;
  }
  auto place = std::find_if(hook_places_.begin(), hook_places_.end(),
                            [&](const auto& known) { return known.first == instance; });
  if (place == hook_places_.end()) {
    shares_.hooks.emplace_back(instance->name(), 0);
    place = hook_places_.insert(hook_places_.end(), {instance, shares_.hooks.size() - 1});
  }
  ++shares_.hooks[place->second].second;
}

Shares TimeShares::shares() const {
  const std::lock_guard lock(mutex_);
  Shares now = shares_;
  now.seconds = static_cast<double>(clock_.monotonic_ns() - start_ns_) * 1e-9;
  now.cpu_seconds = seconds_of(cpu_clock_) - start_cpu_;
  return now;
}

void TimeShares::run() {
  std::int64_t next = clock_.monotonic_ns() + kLookNs;
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      while (!stopping_ && clock_.monotonic_ns() < next) clock_.wait_until(lock, changed_, next);
      if (stopping_) return;
    }
    next = clock_.monotonic_ns() + kLookNs;
    look();
    const Shares now = shares();
    if (now.seconds - window_start_.seconds >= kWindowSecs) look_back(now);
  }
}

void TimeShares::look_back(const Shares& now) {
  const Shares window = now.since(std::exchange(window_start_, now));
  say_if_slow(window);
  write_events(window);
}

void TimeShares::write_events(const Shares& window) const {
  const std::int64_t step = monitor_.step.load(std::memory_order_relaxed);
  if (events_ == nullptr || step < 0) return;
  const auto add = [&](const std::string& tag, double value) { events_->add_scalar(tag, step, value); };
  add("time/training", window.of(Activity::kComputing));
  add("time/input_wait", window.of(Activity::kInputWait));
  add("time/saving", window.of(Activity::kSaving));
  add("time/evaluation", window.of(Activity::kEvaluating));
  if (window.of(Activity::kOtherRanks) > 0) add("time/other_ranks", window.of(Activity::kOtherRanks));
  add("time/hooks", window.of_hooks());
  for (const auto& [name, looks] : window.hooks)
    add("time/hooks/" + name,
        static_cast<double>(looks) / static_cast<double>(std::max<std::int64_t>(window.looks, 1)));
  add("system/attempt", static_cast<double>(run_.attempt()));
  if (const double memory = memory_bytes(); memory > 0) add("system/memory_bytes", memory);
  try {
    if (!run_.options().dir.empty())
      add("system/free_disk_bytes", static_cast<double>(posix_file_system().free_bytes(run_.options().dir)));
  } catch (const Error&) {
    // The free space is not known.
  }
}

void TimeShares::say_if_slow(const Shares& window) {
  const std::int64_t now_ns = clock_.monotonic_ns();
  if (said_ns_ && now_ns - *said_ns_ < kPauseNs) return;
  const std::string why = why_slow(window);
  if (why.empty()) return;
  said_ns_ = now_ns;
  log_.warning("", why);
}

}  // namespace belay::runtime
