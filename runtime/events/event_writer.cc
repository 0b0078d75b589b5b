// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_writer.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "belay/error.h"
#include "runtime/events/proto/event.pb.h"
#include "runtime/events/record_writer.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

// Beyond the first, records are written without waiting for a flush; beyond the second, while nothing can be written,
// new ones are dropped.
constexpr std::size_t kWriteAt = std::size_t{256} << 10, kMostPending = std::size_t{8} << 20;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr int kMostCounters = 9;  // in one second; a tenth has one digit more
constexpr int kMostAttempts = 1000;

std::string this_host() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

std::string serialized(const pb::Event& event) {
  std::string bytes;
  event.SerializeToString(&bytes);
  return bytes;
}

bool is_tag_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
         c == '/' || c == '-';
}

pb::Event new_event(const Clock& clock, std::int64_t step) {
  pb::Event event;
  event.set_wall_time(static_cast<double>(clock.wall_ns()) * 1e-9);
  event.set_step(step);
  return event;
}

}  // namespace

std::string clean_tag(std::string_view tag) {
  while (tag.starts_with('/')) tag.remove_prefix(1);
  std::string clean(tag);
  for (char& c : clean)
    if (!is_tag_character(c)) c = '_';
  return clean;
}

EventWriter::EventWriter(OpenDirectory& directory, const Clock& clock, EventWriterOptions options)
    : directory_(directory), clock_(clock), options_(std::move(options)) {
  if (options_.host.empty()) options_.host = this_host();
  if (options_.pid == 0) options_.pid = getpid();
  for (char& c : options_.host)
    if (!is_tag_character(c) || c == '/') c = '_';
  flush();
}

EventWriter::~EventWriter() { flush(); }

void EventWriter::add_scalar(std::string_view tag, std::int64_t step, double value) {
  pb::Event event = new_event(clock_, step);
  pb::Summary::Value& v = *event.mutable_summary()->add_value();
  v.set_tag(clean_tag(tag));
  v.set_simple_value(static_cast<float>(value));
  warn_unless_finite(v.tag(), value, step);
  append(serialized(event));
}

void EventWriter::add_summary(std::string_view summary, std::int64_t step) {
  pb::Event event = new_event(clock_, step);
  if (summary.size() > INT_MAX ||
      !event.mutable_summary()->ParseFromArray(summary.data(), static_cast<int>(summary.size())))
    fail(Code::kInvalidArgument, "a summary of " + std::to_string(summary.size()) + " bytes is no Summary message");
  for (pb::Summary::Value& v : *event.mutable_summary()->mutable_value()) {
    v.set_tag(clean_tag(v.tag()));
    if (v.has_metadata() && !tags_with_metadata_.insert(v.tag()).second) v.clear_metadata();
    if (v.has_simple_value()) warn_unless_finite(v.tag(), static_cast<double>(v.simple_value()), step);
  }
  append(serialized(event));
}

void EventWriter::add_graph(std::string_view graph_def, std::int64_t step) {
  pb::Event event = new_event(clock_, step);
  event.set_graph_def(std::string(graph_def));
  append(serialized(event));
}

void EventWriter::add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step) {
  if (!run_metadata_tags_.emplace(tag).second)
    fail(Code::kInvalidArgument,
         "there is run metadata of the tag " + single_quoted(tag) + " already; a tag is for one run");
  pb::Event event = new_event(clock_, step);
  event.mutable_tagged_run_metadata()->set_tag(escaped(tag));  // the field must be UTF-8
  event.mutable_tagged_run_metadata()->set_run_metadata(std::string(run_metadata));
  append(serialized(event));
}

void EventWriter::add_session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path) {
  pb::Event event = new_event(clock_, step);
  event.mutable_session_log()->set_status(static_cast<pb::SessionLog::SessionStatus>(status));
  event.mutable_session_log()->set_checkpoint_path(escaped(checkpoint_path));  // the field must be UTF-8
  append(serialized(event));
}

void EventWriter::append(std::string_view event) {
  if (failing_ && pending_.size() + event.size() > kMostPending) {
    ++dropped_;
  } else {
    append_record(pending_, event);
  }
  const bool due = static_cast<double>(clock_.monotonic_ns() - flushed_at_ns_) >= options_.flush_secs * kSecond;
  if (due || (!failing_ && pending_.size() >= kWriteAt)) flush();
}

void EventWriter::flush() noexcept {
  try {
    flushed_at_ns_ = clock_.monotonic_ns();
    if (file_ != nullptr && !directory_.exists(name_)) file_ = nullptr;
    if (file_ == nullptr) open_file();
    write_pending();
    if (std::exchange(failing_, false))
      warn("event file '" + escaped(name_) + "' can be written again; " + std::to_string(dropped_) +
           " events were lost");
    dropped_ = 0;
  } catch (const std::exception& e) {
    if (!std::exchange(failing_, true)) warn(std::string("events are not written for now: ") + e.what());
    // Nothing of worth is in it: do not leave one for every attempt.
    if (file_ != nullptr && !file_has_version_) {
      try {
        directory_.remove(name_);
      } catch (const std::exception&) {
        // The warning is out already.
      }
      name_.clear();
    }
    file_ = nullptr;
  }
}

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kSecondsDigits = 10;
constexpr std::int64_t kMostSeconds = 9'999'999'998;  // behind which another name has room

// The seconds of an event file's name; none where it is no such name.
std::optional<std::int64_t> seconds_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + std::min(name.size(), kSecondsDigits), seconds);
  const bool whole =
      error == std::errc() && end == name.data() + kSecondsDigits && seconds >= 0 && seconds <= kMostSeconds;
  return whole && name.size() > kSecondsDigits && name[kSecondsDigits] == '.' ? std::optional(seconds) : std::nullopt;
}

// The last event file in the order of names, which is the order in which TensorBoard reads them.
std::string last_event_file(const OpenDirectory& directory) {
  std::string last;
  for (std::string& name : directory.entries())
    if (seconds_of(name) && name > last) last = std::move(name);
  return last;
}

}  // namespace

// A clock that went back, or a process number with one digit more, must not bring a later file in front of an earlier
// one: TensorBoard reads on from name to name and never goes back.
std::string EventWriter::new_name() const {
  const std::string last = last_event_file(directory_);
  std::int64_t seconds = std::max(clock_.wall_ns() / kSecond, seconds_of(last).value_or(0));
  for (int counter = 0;; ++counter) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%010lld", static_cast<long long>(seconds));
    std::string name = std::string(kPrefix) + digits + "." + options_.host + "." + std::to_string(options_.pid) + "." +
                       std::to_string(counter) + options_.suffix;
    if (name > last) return name;
    if (counter < kMostCounters) continue;
    ++seconds;
    counter = -1;
  }
}

void EventWriter::open_file() {
  for (int attempt = 0; file_ == nullptr; ++attempt) {
    const std::string name = new_name();
    try {
      file_ = directory_.create(name);
      name_ = name;
    } catch (const Error& e) {
      if (e.code() != Code::kAlreadyExists || attempt == kMostAttempts) throw;  // another writer was faster
    }
  }
  file_has_version_ = false;
  tags_with_metadata_.clear();
  pb::Event version;
  const std::int64_t seconds = clock_.wall_ns() / kSecond;
  version.set_wall_time(static_cast<double>(seconds));
  version.set_file_version("brain.Event:2");
  std::string record;
  append_record(record, serialized(version));
  file_->write(record.data(), record.size());
  file_has_version_ = true;
}

void EventWriter::write_pending() {
  if (pending_.empty()) return;
  file_->write(pending_.data(), pending_.size());
  pending_.clear();
}

void EventWriter::warn_unless_finite(const std::string& tag, double value, std::int64_t step) {
  if (std::isfinite(value) || !tags_not_finite_.insert(tag).second) return;
  const char* found = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  warn("'" + tag + "' is " + found + " at step " + std::to_string(step) + " (said once)");
}

void EventWriter::warn(const std::string& text) noexcept {
  try {
    if (options_.on_warning) options_.on_warning(text);
  } catch (const std::exception&) {
    // A warning that cannot be given is given up.
  }
}

}  // namespace belay::runtime
