// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/run_events_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "belay/error.h"
#include "runtime/events/event_reader.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

// This is TensorBoard's rule.
bool is_event_file(const OpenDirectory& directory, const std::string& name) {
  return name.find("tfevents") != name.npos && directory.status(name).kind == FileKind::kFile;
}

class RunReader {
 public:
  RunReader(ReadEvents& all, const WantedEvent& wanted, EventContents contents)
      : all_(all), wanted_(wanted), contents_(contents) {}

  void begin_run(const std::string& name) {
    all_.runs.push_back(name);
    values_ = EventValues(contents_);
    attempts_ = 0;
    first_of_run_ = all_.points.size();
  }

  void file(const OpenDirectory& directory, const std::string& name) {
    first_of_file_ = all_.points.size();
    has_start_ = false;
    std::unique_ptr<OpenFile> opened = directory.open(name);
    const std::uint64_t size = opened->size();
    EventReader reader(std::move(opened));
    read(reader, size);
    if (has_start_) ++attempts_;
    for (std::size_t i = first_of_file_; i < all_.points.size(); ++i) all_.points[i].attempt = std::max(attempts_, 1);
  }

 private:
  void read(EventReader& reader, std::uint64_t size) {
    pb::Event event;
    for (;;) {
      const std::uint64_t begin = reader.offset();
      try {
        if (!reader.next(event)) break;
        add(event);
      } catch (const Error& e) {
        const bool lost = reader.offset() == begin;
        all_.problems.push_back(
            {std::string(e.message()) + (lost ? "; what follows in this file is not read" : "; it is left out"), true});
        if (lost) return;
      }
    }
    if (reader.offset() < size)
      all_.problems.push_back({fmt::format("{} ends within the record at byte {}: its last {} bytes are left out",
                                           single_quoted(reader.path()), reader.offset(), size - reader.offset()),
                               false});
  }

  void add(const pb::Event& event) {
    const bool start = event.has_session_log() && event.session_log().status() == pb::SessionLog::START;
    if (start) mark_redone(event.step());
    has_start_ = has_start_ || start;
    values_.for_each(event, [&](EventValue value) {
      if (!wanted_(value, event.step())) return;
      all_.points.push_back({all_.runs.size() - 1, 1, event.step(), event.wall_time(), std::move(value)});
    });
  }

  // Marks the points from that step on. This includes points of this file, since a recovered session has a START in the
  // same one. The session's entries stay, since they show its history.
  void mark_redone(std::int64_t from) {
    for (std::size_t i = first_of_run_; i < all_.points.size(); ++i)
      if (all_.points[i].step >= from && !all_.points[i].value.tag.empty()) all_.points[i].redone = true;
  }

  ReadEvents& all_;
  const WantedEvent& wanted_;
  EventContents contents_;
  EventValues values_;
  int attempts_ = 0;
  bool has_start_ = false;
  std::size_t first_of_run_ = 0, first_of_file_ = 0;
};

// Reads its event files, then those of the folders below.
void read_directory(const OpenDirectory& directory, const std::string& run, RunReader& reader) {
  constexpr std::string_view kHere = ".";
  bool begun = false;
  std::vector<std::string> folders;
  for (const std::string& name : directory.entries()) {
    if (is_event_file(directory, name)) {
      if (!std::exchange(begun, true)) reader.begin_run(run);
      reader.file(directory, name);
    } else if (directory.status(name).kind == FileKind::kDirectory) {
      folders.push_back(name);
    }
  }
  for (const std::string& name : folders)
    read_directory(*directory.open_directory(name), run == kHere ? name : run + "/" + name, reader);
}

}  // namespace

ReadEvents read_events(FileSystem& files, const std::string& path, const WantedEvent& wanted, EventContents contents) {
  if (!files.exists(path)) fail(Code::kNotFound, "[B5010] there is no " + single_quoted(path));
  ReadEvents all;
  RunReader reader(all, wanted, contents);
  if (files.status(path).kind == FileKind::kDirectory) {
    read_directory(*files.open_directory(path), ".", reader);
    if (all.runs.empty())
      fail(Code::kNotFound,
           "[B5010] " + single_quoted(path) + " holds no event file (events.out.tfevents.*), nor do folders below it");
    return all;
  }
  const std::size_t slash = path.rfind('/');
  const std::string parent = slash == path.npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
  reader.begin_run(".");
  reader.file(*files.open_directory(parent), path.substr(slash + 1));
  return all;
}

}  // namespace belay::runtime
