// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/event_writer.h"

#include <fmt/core.h>

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <system_error>
#include <utility>

#include "belay/error.h"
#include "runtime/events/plain_summary.h"
#include "runtime/events/proto/event.pb.h"
#include "runtime/events/record_writer.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// The thread writes at once if this many bytes wait. Above the second number, an add writes them itself. If nothing can
// be written, it drops the record.
constexpr std::size_t kWriteAt = std::size_t{256} << 10, kMostWaiting = std::size_t{8} << 20;
constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::int64_t kNow = INT64_MIN;
constexpr double kFirstWaitSecs = 2;  // a user who starts a run looks at it now
constexpr int kMostCounters = 9;      // in one second; a tenth has one digit more
constexpr int kMostAttempts = 1000;

std::string this_host() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

void clean_into(std::string_view tag, std::string& clean) {
  while (tag.starts_with('/')) tag.remove_prefix(1);
  clean.assign(tag);
  for (char& c : clean)
    if (!is_tag_character(c)) c = '_';
}

// Appends the event's fields, and the summary in its original bytes, if it is not empty. Encoding it again would take
// as long as all the rest.
void append_event(std::string& out, const pb::Event& event, std::string_view summary = {}) {
  using google::protobuf::internal::WireFormatLite;
  using google::protobuf::io::CodedOutputStream;
  constexpr std::size_t kMostOfAFieldsHead = 2 * sizeof(std::uint64_t);
  const std::size_t begin = out.size(), size = event.ByteSizeLong();
  out.resize(begin + kRecordHead + size + (summary.empty() ? 0 : kMostOfAFieldsHead));
  auto* at = reinterpret_cast<std::uint8_t*>(out.data() + begin + kRecordHead);
  at = event.SerializeWithCachedSizesToArray(at);
  if (!summary.empty()) {
    constexpr auto kTag =
        WireFormatLite::MakeTag(pb::Event::kSummaryFieldNumber, WireFormatLite::WIRETYPE_LENGTH_DELIMITED);
    at = CodedOutputStream::WriteTagToArray(kTag, at);
    at = CodedOutputStream::WriteVarint32ToArray(static_cast<std::uint32_t>(summary.size()), at);
    out.resize(static_cast<std::size_t>(reinterpret_cast<char*>(at) - out.data()));
    out += summary;
  }
  out.append(kRecordFoot, '\0');
  frame_record(out.data() + begin, out.size() - begin - kRecordHead - kRecordFoot);
}

}  // namespace

std::string clean_tag(std::string_view tag) {
  std::string clean;
  clean_into(tag, clean);
  return clean;
}

EventWriter::EventWriter(OpenDirectory& directory, Clock& clock, EventWriterOptions options)
    : directory_(directory),
      clock_(clock),
      options_(std::move(options)),
      scalar_(std::make_unique<pb::Event>()),
      summary_head_(std::make_unique<pb::Event>()) {
  options_.flush_secs = std::clamp(options_.flush_secs, 0.0, 1e9);
  wait_secs_ = std::min(kFirstWaitSecs, options_.flush_secs);
  if (options_.host.empty()) options_.host = this_host();
  if (options_.pid == 0) options_.pid = getpid();
  for (char& c : options_.host)
    if (!is_tag_character(c) || c == '/') c = '_';
  scalar_->mutable_summary()->add_value();
  flush();
}

EventWriter::~EventWriter() {
  start_flush();
  thread_.wait();
  flush();
}

// ---- what is added ----

void EventWriter::stamp(pb::Event& event, std::int64_t step) const {
  event.set_wall_time(static_cast<double>(clock_.wall_ns()) * 1e-9);
  event.set_step(step);
}

void EventWriter::add_scalar(std::string_view tag, std::int64_t step, double value, bool is_said) {
  std::unique_lock lock(mutex_);
  stamp(*scalar_, step);
  pb::Summary::Value& v = *scalar_->mutable_summary()->mutable_value(0);
  clean_into(tag, *v.mutable_tag());
  v.set_simple_value(static_cast<float>(value));
  if (!is_said) warn_unless_finite(v.tag(), value, step);
  append(std::move(lock), *scalar_);
}

void EventWriter::add_summary(std::string_view summary, std::int64_t step) {
  if (summary.size() <= INT_MAX && is_plain_summary(summary)) {
    std::unique_lock lock(mutex_);
    stamp(*summary_head_, step);
    return append(std::move(lock), *summary_head_, summary);
  }
  pb::Summary parsed;
  if (summary.size() > INT_MAX || !parsed.ParseFromArray(summary.data(), static_cast<int>(summary.size())))
    fail(Code::kInvalidArgument, fmt::format("a summary of {} bytes is no Summary message", summary.size()));
  std::unique_lock lock(mutex_);
  stamp(*summary_head_, step);
  const std::string changed = change_summary(parsed, step) ? parsed.SerializeAsString() : std::string();
  append(std::move(lock), *summary_head_, changed.empty() ? summary : changed);
}

// False: it may be written unchanged.
bool EventWriter::change_summary(pb::Summary& summary, std::int64_t step) {
  bool changed = false;
  for (pb::Summary::Value& v : *summary.mutable_value()) {
    if (!is_clean_tag(v.tag())) {
      v.set_tag(clean_tag(v.tag()));
      changed = true;
    }
    if (v.has_metadata() && !tags_.with_metadata.insert(v.tag()).second) {
      v.clear_metadata();
      changed = true;
    }
    if (v.has_simple_value()) warn_unless_finite(v.tag(), static_cast<double>(v.simple_value()), step);
  }
  return changed;
}

void EventWriter::add_graph(std::string_view graph_def, std::int64_t step) {
  pb::Event event;
  stamp(event, step);
  event.set_graph_def(std::string(graph_def));
  append(std::unique_lock(mutex_), event);
}

void EventWriter::add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step) {
  std::unique_lock lock(mutex_);
  if (!tags_.run_metadata.emplace(tag).second)
    fail(Code::kInvalidArgument,
         "there is run metadata of the tag " + single_quoted(tag) + " already; a tag is for one run");
  append_run_metadata(std::move(lock), tag, run_metadata, step);
}

bool EventWriter::add_step_trace(std::string_view run_metadata, std::int64_t step) {
  std::unique_lock lock(mutex_);
  if (step <= tags_.traced_step) return false;
  tags_.traced_step = step;
  append_run_metadata(std::move(lock), fmt::format("step_{}", step), run_metadata, step);
  return true;
}

void EventWriter::append_run_metadata(std::unique_lock<std::mutex> lock, std::string_view tag,
                                      std::string_view run_metadata, std::int64_t step) {
  pb::Event event;
  stamp(event, step);
  event.mutable_tagged_run_metadata()->set_tag(escaped(tag));  // the field must be UTF-8
  event.mutable_tagged_run_metadata()->set_run_metadata(std::string(run_metadata));
  append(std::move(lock), event);
}

void EventWriter::add_session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path) {
  pb::Event event;
  stamp(event, step);
  event.mutable_session_log()->set_status(static_cast<pb::SessionLog::SessionStatus>(status));
  event.mutable_session_log()->set_checkpoint_path(escaped(checkpoint_path));  // the field must be UTF-8
  append(std::unique_lock(mutex_), event);
}

void EventWriter::append(std::unique_lock<std::mutex> lock, const pb::Event& event, std::string_view summary) {
  const std::size_t waiting = taken_ + gathered_.size();
  if (failing_ && waiting + event.ByteSizeLong() + summary.size() > kMostWaiting) {
    ++dropped_;
  } else {
    append_event(gathered_, event, summary);
    start_or_wake_thread();
  }
  const bool writes_itself = !failing_ && waiting > kMostWaiting;
  if (!writes_itself && warnings_.empty()) return;
  lock.unlock();
  if (writes_itself) write_gathered();
  say_warnings();
}

// ---- the thread ----

void EventWriter::start_or_wake_thread() {
  if (!waiting_ && !no_thread_) {
    due_ns_ = clock_.monotonic_ns() + static_cast<std::int64_t>(wait_secs_ * kSecond);
    wait_secs_ = std::min(2 * wait_secs_, options_.flush_secs);
    try {
      thread_.start([this] { wait_and_write(); });
      waiting_ = true;
    } catch (const std::system_error& e) {
      no_thread_ = true;
      warnings_.push_back(std::string("there can be no thread that writes events (") + e.what() +
                          "): they are written at a flush and at the end");
    }
  }
  // If the disk refused the last ones, the next try is at the usual time.
  if (waiting_ && !failing_ && gathered_.size() >= kWriteAt && due_ns_ != kNow) {
    due_ns_ = kNow;
    changed_.notify_one();
  }
}

void EventWriter::wait_and_write() noexcept {
  {
    std::unique_lock lock(mutex_);
    while (clock_.monotonic_ns() < due_ns_) clock_.wait_until(lock, changed_, due_ns_);
    waiting_ = false;  // the next add starts it again
  }
  write_gathered();
}

void EventWriter::flush() noexcept {
  write_gathered();
  say_warnings();
}

void EventWriter::start_flush() noexcept {
  {
    const std::lock_guard lock(mutex_);
    due_ns_ = kNow;
  }
  changed_.notify_one();
  say_warnings();
}

// ---- the file ----

std::string EventWriter::file_name() const {
  const std::lock_guard lock(file_mutex_);
  return name_;
}

void EventWriter::write_gathered() noexcept {
  const std::lock_guard file_lock(file_mutex_);
  try {
    take_gathered();
    if (file_ != nullptr && !directory_.exists(name_)) file_ = nullptr;
    if (file_ == nullptr) open_file();
    if (!writing_.empty()) file_->write(writing_.data(), writing_.size());
    file_bytes_ += writing_.size();
    writing_.clear();
    note_success();
  } catch (const std::exception& e) {
    note_failure(e.what());
    drop_written();
    // It has nothing of value, so not every attempt leaves one.
    if (file_ != nullptr && !file_has_version_) {
      try {
        directory_.remove(name_);
      } catch (const std::exception&) {
        // The warning was given already.
      }
      name_.clear();
    }
    file_ = nullptr;
  }
}

// Drops the records that are whole in the file although the write failed. The next file must not have them again.
void EventWriter::drop_written() noexcept {
  if (file_ == nullptr || !file_has_version_) return;
  try {
    const std::uint64_t size = std::max(file_->size(), file_bytes_);
    const std::uint64_t written = std::min<std::uint64_t>(size - file_bytes_, writing_.size());
    std::size_t whole = 0;
    for (std::size_t end = 0; end <= written; end = whole + record_size(writing_.data() + whole)) {
      whole = end;
      if (whole == writing_.size()) break;
    }
    writing_.erase(0, whole);
  } catch (const std::exception&) {
    // The size is not known. A repeated record is better than a lost one.
  }
}

// Appends the new records to those that an earlier write left, if there are any.
void EventWriter::take_gathered() {
  const std::lock_guard lock(mutex_);
  if (writing_.empty()) {
    writing_.swap(gathered_);
  } else {
    writing_ += gathered_;
    gathered_.clear();
  }
  taken_ = writing_.size();
}

void EventWriter::note_success() {
  const std::lock_guard lock(mutex_);
  taken_ = 0;
  if (std::exchange(failing_, false))
    warnings_.push_back(
        fmt::format("event file '{}' can be written again; {} events were lost", escaped(name_), dropped_));
  dropped_ = 0;
}

void EventWriter::note_failure(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!std::exchange(failing_, true)) warnings_.push_back("events are not written for now: " + why);
}

namespace {

constexpr std::string_view kPrefix = "events.out.tfevents.";
constexpr std::size_t kSecondsDigits = 10;
constexpr std::int64_t kMostSeconds = 9'999'999'998;  // leaves room for a later name

// Returns the seconds in an event file's name; none: it is no such name.
std::optional<std::int64_t> seconds_of(std::string_view name) {
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + std::min(name.size(), kSecondsDigits), seconds);
  const bool whole =
      error == std::errc() && end == name.data() + kSecondsDigits && seconds >= 0 && seconds <= kMostSeconds;
  return whole && name.size() > kSecondsDigits && name[kSecondsDigits] == '.' ? std::optional(seconds) : std::nullopt;
}

// Returns the last event file in the order of names, in which TensorBoard reads them.
std::string last_event_file(const OpenDirectory& directory) {
  std::string last;
  for (std::string& name : directory.entries())
    if (seconds_of(name) && name > last) last = std::move(name);
  return last;
}

}  // namespace

// A clock may go back, and a process number may have one digit more. A later file must still sort after an earlier one.
// TensorBoard reads on from name to name and never goes back.
std::string EventWriter::new_name() const {
  const std::string last = last_event_file(directory_);
  std::int64_t seconds = std::max(clock_.wall_ns() / kSecond, seconds_of(last).value_or(0));
  for (int counter = 0;; ++counter) {
    std::string name =
        fmt::format("{}{:010}.{}.{}.{}{}", kPrefix, seconds, options_.host, options_.pid, counter, options_.suffix);
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
  {
    const std::lock_guard lock(mutex_);
    tags_.with_metadata.clear();
  }
  pb::Event version;
  const std::int64_t seconds = clock_.wall_ns() / kSecond;
  version.set_wall_time(static_cast<double>(seconds));
  version.set_file_version("brain.Event:2");
  std::string record;
  append_event(record, version);
  file_->write(record.data(), record.size());
  file_bytes_ = record.size();
  file_has_version_ = true;
}

// ---- warnings ----

void EventWriter::warn_unless_finite(const std::string& tag, double value, std::int64_t step) {
  if (std::isfinite(value) || !tags_.not_finite.insert(tag).second) return;
  const char* found = std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
  warnings_.push_back(fmt::format("'{}' is {} at step {} (logged once)", tag, found, step));
}

void EventWriter::say_warnings() noexcept {
  std::vector<std::string> warnings;
  {
    const std::lock_guard lock(mutex_);
    warnings.swap(warnings_);
  }
  try {
    if (options_.on_warning)
      for (const std::string& text : warnings) options_.on_warning(text);
  } catch (const std::exception&) {
    // A warning that cannot be given is dropped.
  }
}

}  // namespace belay::runtime
