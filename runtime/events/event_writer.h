// SPDX-License-Identifier: Apache-2.0
// Writes a run's TensorBoard event file: scalars, summaries, the graph, and the log of sessions.
//
//   EventWriter events(run, clock, {.on_warning = [&](std::string_view text) { log.warning("events", text); }});
//   events.add_session_log(EventWriter::kStart, step + 1);
//   events.add_scalar("loss", step, loss);
//   events.flush();
//
// One object is one file, of the name events.out.tfevents.<seconds>.<host>.<pid>.<counter><suffix>, which is new: an
// attempt never appends to another's. Its name sorts behind those that are there, whatever the clock says, since
// TensorBoard reads files in the order of their names and drops what comes before; so the seconds may be later than the
// clock's. Its first record, the version, is in the file when the constructor returns. Records are gathered in memory
// and written at flush(), at the first add 120 s after the last flush, and when they are many.
//
// Nothing here ends training. If the file cannot be written the caller's on_warning is called once, and a new file is
// tried at the next flush (the old one may end in half a record, behind which no reader looks); where that goes on, the
// oldest records stay and new ones are dropped and counted. A file that was deleted under the writer is followed by a
// new one.
//
// One thread at a time.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <string_view>

#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"

namespace belay::runtime {

struct EventWriterOptions {
  std::string host;      // empty: this machine's name
  std::int64_t pid = 0;  // 0: this process
  std::string suffix;    // of each file's name
  double flush_secs = 120;
  std::function<void(std::string_view)> on_warning;  // may be empty
};

class EventWriter {
 public:
  enum SessionStatus { kStart = 1, kStop = 2, kCheckpoint = 3 };  // as BELAY_SESSION_*

  // `directory` and `clock` must outlive the object.
  EventWriter(OpenDirectory& directory, const Clock& clock, EventWriterOptions options = {});
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  // Flushes.
  ~EventWriter();

  // A tag's characters other than letters, digits, '_', '.', '/', '-' become '_', and '/' in front goes. NaN and
  // infinity are written as they are; the first of a tag is a warning.
  void add_scalar(std::string_view tag, std::int64_t step, double value);
  // A serialized Summary message; INVALID_ARGUMENT where it is none. A tag's metadata is kept at its first value only.
  void add_summary(std::string_view summary, std::int64_t step);
  // A serialized GraphDef message.
  void add_graph(std::string_view graph_def, std::int64_t step = 0);
  // A serialized RunMetadata message of one run of the session. INVALID_ARGUMENT where the tag was used before.
  void add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step);
  // kStart at the first step that this attempt will do: TensorBoard drops what earlier attempts wrote from there on.
  void add_session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path = {});

  // Hands everything to the system. Not synced: a power failure may take the last lines of a plot.
  void flush() noexcept;

  // Name in the directory; empty while no file could be made.
  const std::string& file_name() const noexcept { return name_; }

 private:
  void append(std::string_view event);
  std::string new_name() const;
  void open_file();
  void write_pending();
  void warn_unless_finite(const std::string& tag, double value, std::int64_t step);
  void warn(const std::string& text) noexcept;

  OpenDirectory& directory_;
  const Clock& clock_;
  EventWriterOptions options_;
  std::string name_;
  std::unique_ptr<OpenFile> file_;
  bool file_has_version_ = false;
  std::string pending_;  // framed records
  std::uint64_t dropped_ = 0;
  std::int64_t flushed_at_ns_ = 0;
  bool failing_ = false;
  std::set<std::string, std::less<>> tags_with_metadata_;
  std::set<std::string> tags_not_finite_;
  std::set<std::string, std::less<>> run_metadata_tags_;
};

// The tag as add_scalar writes it.
std::string clean_tag(std::string_view tag);

}  // namespace belay::runtime
