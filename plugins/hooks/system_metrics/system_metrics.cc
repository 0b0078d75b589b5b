// SPDX-License-Identifier: Apache-2.0
#include <belay/due_steps.h>
#include <belay/plugin.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>

#include "proc_status.h"

namespace {

constexpr double kMegabyte = 1e6, kGigabyte = 1e9;

double seconds(const timeval& t) { return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) * 1e-6; }

// Returns the processor time of the whole process, all threads together.
double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

class SystemMetrics final : public belay::Hook {
 public:
  struct Options {
    std::optional<std::int64_t> every_n_steps;
    std::optional<double> every_n_secs;
    bool log = false;
  };
  static constexpr auto about = belay::about(
      "system_metrics", "Writes processor time, memory, threads, load and free disk into the event file",
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps; 100 if no period is set")
          .min(1)
          .watching(),
      belay::option("every_n_secs", &Options::every_n_secs,
                    "period of the writes, in seconds; if both periods are set, the one that ends first counts")
          .min(0.001)
          .watching(),
      belay::option("log", &Options::log, "true: also writes the values to the log").watching());

  explicit SystemMetrics(const Options& o)
      : log_(o.log), due_(o.every_n_secs, o.every_n_secs || o.every_n_steps ? o.every_n_steps : std::int64_t{100}) {}

  void begin(belay::Graph& graph) override { due_.begin(graph); }
  void after_create_session(belay::Session& session) override {
    due_.session_created(session);
    measure_cpu();
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    due_.next(host());
    return {due_.fetch()};
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (const auto step = due_.reached(run.session(), values, host())) write(*step);
  }

  void save_state(belay::StateWriter& state) const override { due_.save(state, host()); }
  void load_state(const belay::StateReader& state) override { due_.load(state, host()); }

 private:
  struct Moment {
    std::chrono::nanoseconds wall{};
    double cpu = 0;
  };

  // Returns the number of busy processors since the last call. One processor that is busy all the time counts as 1.
  double measure_cpu() {
    const Moment now{host().monotonic(), cpu_seconds()};
    const double wall = std::chrono::duration<double>(now.wall - last_.wall).count();
    const double busy = wall > 0 ? (now.cpu - last_.cpu) / wall : 0;
    last_ = now;
    return busy;
  }

  void write(std::int64_t step) {
    text_.clear();
    add("cpus_busy", measure_cpu(), step);
    const ProcStatus status = read_proc_status("/proc/self/status");
    if (status.rss_bytes) add("rss_mb", *status.rss_bytes / kMegabyte, step);
    if (status.peak_rss_bytes) add("peak_rss_mb", *status.peak_rss_bytes / kMegabyte, step);
    if (status.threads) add("threads", *status.threads, step);
    double load = 0;
    if (getloadavg(&load, 1) == 1) add("load", load, step);
    struct statvfs disk {};
    if (!host().run_directory().empty() && statvfs(host().run_directory().c_str(), &disk) == 0)
      add("disk_free_gb", static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / kGigabyte, step);
    if (log_) host().info(text_);
  }
  void add(const char* name, double value, std::int64_t step) {
    belay::Events(host()).scalar(std::string("system/") + name, step, value);
    if (log_) text_ += (text_.empty() ? "" : ", ") + std::string(name) + " = " + belay::rounded_text(value);
  }

  const bool log_;
  belay::DueSteps due_;
  Moment last_;
  std::string text_;
};

}  // namespace

BELAY_MODULE("1.0.0", SystemMetrics)
