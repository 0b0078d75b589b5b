// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/metrics_line.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>

#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kMetricsName = "metrics.jsonl";

void add_metrics(const std::string& input, const EvalResult& result, LogFields& fields) {
  for (const auto& [name, value] : result.metrics) fields.add(input + "/" + name, value);
}

}  // namespace

LogFields evaluation_fields(const std::string& input, const EvalResult& result) {
  LogFields fields;
  fields.add("event", "evaluation");
  fields.add("input", input);
  fields.add("step", result.global_step);
  fields.add("examples", result.examples);
  add_metrics(input, result, fields);
  return fields;
}

// By one write at the end of the file, where the hook writes, too: neither cuts a line of the other.
void append_metrics_line(RunHost& run, const std::string& input, const EvalResult& result) {
  if (!run.has_directory() || run.lock_lost()) return;
  const std::string path = run.directory().path() + "/" + kMetricsName;
  const int file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);
  if (file < 0) return;
  LogFields fields;
  fields.add("step", result.global_step);
  fields.add("attempt", run.attempt());
  fields.add("time", std::round(static_cast<double>(run.clock().wall_ns()) * 1e-6) / 1000);
  fields.add("event", "evaluation");
  add_metrics(input, result, fields);
  const std::string line = fields.json() + "\n";
  const ssize_t n = ::write(file, line.data(), line.size());
  if (n != static_cast<ssize_t>(line.size()))
    run.log().warning(
        "", single_quoted(path) + " lacks an evaluation: " + (n < 0 ? std::strerror(errno) : "the disk is full"));
  ::close(file);
}

}  // namespace belay::runtime
