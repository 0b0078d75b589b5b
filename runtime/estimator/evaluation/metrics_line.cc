// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/evaluation/metrics_line.h"

#include <fmt/core.h>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstring>
#include <utility>

#include "runtime/events/matrix.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

constexpr const char* kMetricsName = "metrics.jsonl";

void add_metrics(const std::string& input, const EvalResult& result, LogFields& fields) {
  for (const auto& [name, value] : result.metrics) fields.add(input + "/" + name, value);
  std::string classes;
  for (const std::string& name : result.class_names) classes += (classes.empty() ? "[" : ",") + detail::json_text(name);
  classes += "]";
  for (const auto& [name, value] : result.matrices) {
    if (TensorView(value).rank() != 2) continue;
    const Matrix matrix = matrix_of(value);
    if (is_too_large(matrix)) continue;
    fields.add_json(input + "/" + name, matrix_json(matrix));
    if (matrix.size() == result.class_names.size()) fields.add_json(input + "/" + name + ".classes", classes);
  }
}

// Appends the line by one write, since the hook writes to the same file: so neither cuts a line of the other. Returns
// why it failed; empty: the line is in the file.
std::string append(const std::string& path, const std::string& line) {
  int file = -1;
  do {
    file = ::open(path.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  } while (file < 0 && errno == EINTR);
  if (file < 0) return std::strerror(errno);
  struct stat info {};
  if (::fstat(file, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(file);
    return "it is no regular file";
  }
  ssize_t n = -1;
  do {
    n = ::write(file, line.data(), line.size());
  } while (n < 0 && errno == EINTR);
  std::string why;
  if (n != static_cast<ssize_t>(line.size())) why = n < 0 ? std::strerror(errno) : "the disk is full";
  if (n > 0 && !why.empty() && ::ftruncate(file, info.st_size) != 0) why += "; half a line is in it";
  ::close(file);
  return why;
}

bool has_metrics(RunHost& run) {
  try {
    return run.directory().exists(kMetricsName);
  } catch (const Error&) {
    return true;  // the append reports the error
  }
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

void append_metrics_line(RunHost& run, const std::string& input, const EvalResult& result) {
  if (!run.has_directory() || run.lock_lost() || !has_metrics(run)) return;
  LogFields fields;
  fields.add("step", result.global_step);
  fields.add("attempt", run.attempt());
  fields.add("time", std::round(static_cast<double>(run.clock().wall_ns()) * 1e-6) / 1000);
  fields.add("event", "evaluation");
  add_metrics(input, result, fields);
  const std::string path = run.directory().path() + "/" + kMetricsName;
  const std::string why = append(path, fields.json() + "\n");
  if (why.empty() || std::exchange(run.warned_of_metrics(), true)) return;
  run.log().warning(
      "", fmt::format("{} lacks the evaluation of step {}: {}; the run continues, and others may be missing, too",
                      single_quoted(path), result.global_step, why));
}

}  // namespace belay::runtime
