#include "runtime/events/event_writer.h"

#include <unistd.h>

#include <climits>
#include <cstdio>
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
constexpr int kMostNames = 1000;

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
  }
  append(serialized(event));
}

void EventWriter::add_graph(std::string_view graph_def, std::int64_t step) {
  pb::Event event = new_event(clock_, step);
  event.set_graph_def(std::string(graph_def));
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
    if (!std::exchange(failing_, true))
      warn(std::string("events are not written for now, training goes on: ") + e.what());
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

void EventWriter::open_file() {
  const std::int64_t seconds = clock_.wall_ns() / kSecond;
  for (int counter = 0; file_ == nullptr; ++counter) {
    char digits[32];
    std::snprintf(digits, sizeof(digits), "%010lld", static_cast<long long>(seconds));
    const std::string name = std::string("events.out.tfevents.") + digits + "." + options_.host + "." +
                             std::to_string(options_.pid) + "." + std::to_string(counter);
    try {
      file_ = directory_.create(name);
      name_ = name;
    } catch (const Error& e) {
      if (e.code() != Code::kAlreadyExists || counter == kMostNames) throw;
    }
  }
  file_has_version_ = false;
  tags_with_metadata_.clear();
  pb::Event version;
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

void EventWriter::warn(const std::string& text) noexcept {
  try {
    if (options_.on_warning) options_.on_warning(text);
  } catch (const std::exception&) {
    // A warning that cannot be given is given up.
  }
}

}  // namespace belay::runtime
