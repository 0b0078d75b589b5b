// SPDX-License-Identifier: Apache-2.0
// Writes a run's TensorBoard event file: scalars, summaries, the graph, and the log of sessions.
//
//   EventWriter events(run, clock, {.on_warning = [&](std::string_view text) { log.warning("events", text); }});
//   events.add_session_log(EventWriter::kStart, step + 1);
//   events.add_scalar("loss", step, loss);     // a few hundred nanoseconds, no call of the system
//   events.flush();                            // all of it is in the file
//
// One object is one file, of the name events.out.tfevents.<seconds>.<host>.<pid>.<counter><suffix>, which is new: an
// attempt never appends to another's. Its name sorts behind those that are there, whatever the clock says, since
// TensorBoard reads files in the order of their names and drops what comes before; so the seconds may be later than the
// clock's. Its first record, the version, is in the file when the constructor returns.
//
// An add makes the record in memory and returns. A thread, belay-events, writes the records flush_secs after the first
// of them was added, also if nothing else is added, and as soon as there are 256 KiB; flush() and the end of the object
// write them at once. At the beginning it waits for 2 s, then for twice as long each time, up to flush_secs. So a crash
// loses what was added in the last flush_secs. An add behind 8 MiB that wait for a slow disk writes them itself, and so
// waits for the disk.
//
// Nothing here ends training. If the file cannot be written, a new file is tried at the next flush (the old one may end
// in half a record, behind which no reader looks; what is whole in it does not come again); where that goes on, the
// oldest 8 MiB stay and new records are dropped and counted. A file that was deleted under the writer is followed by a
// new one. What there is to say of it is said by on_warning, once, and never by the thread: the next add, flush() or
// the end calls it. Where there can be no thread that is a warning, and records are written by flush(), the end, and an
// add behind 8 MiB.
//
// [any thread] Each member below belongs to one of two locks. `mutex_` has the records that were added and all that an
// add looks at; it is held for moments, never during a call of the system. `file_mutex_` has the file and the records
// that are on their way into it; who holds it, the thread or a caller of flush(), writes, and takes `mutex_` inside it,
// to exchange the two buffers and to note how it went. So the order is file_mutex_, then mutex_, and no lock is held
// while on_warning is called. BackgroundThread joins the thread before anything that it uses is destroyed.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/platform/background_thread.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"

namespace belay::pb {
class Event;
class Summary;
}  // namespace belay::pb

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
  EventWriter(OpenDirectory& directory, Clock& clock, EventWriterOptions options = {});
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  // Flushes, however long flush_secs is.
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
  // That of the run that made a step, under the tag "step_N". False, and nothing is added: there is one of that step,
  // or of a later one. It keeps the last step and no tags, since a run may have millions of these.
  bool add_step_trace(std::string_view run_metadata, std::int64_t step);
  // kStart at the first step that this attempt will do: TensorBoard drops what earlier attempts wrote from there on.
  void add_session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path = {});

  // Hands everything to the system. Not synced: a power failure may take the last lines of a plot.
  void flush() noexcept;
  // The thread does so now; this returns at once.
  void start_flush() noexcept;

  // Name in the directory; empty while no file could be made.
  std::string file_name() const;

 private:
  void stamp(pb::Event& event, std::int64_t step) const;
  bool change_summary(pb::Summary& summary, std::int64_t step);
  void append(std::unique_lock<std::mutex> lock, const pb::Event& event, std::string_view summary = {});
  void append_run_metadata(std::unique_lock<std::mutex> lock, std::string_view tag, std::string_view run_metadata,
                           std::int64_t step);
  void start_or_wake_thread();
  void wait_and_write() noexcept;
  void write_gathered() noexcept;
  void drop_written() noexcept;
  void take_gathered();
  void note_success();
  void note_failure(const std::string& why);
  std::string new_name() const;
  void open_file();
  void warn_unless_finite(const std::string& tag, double value, std::int64_t step);
  void say_warnings() noexcept;

  OpenDirectory& directory_;
  Clock& clock_;
  EventWriterOptions options_;

  // ---- under mutex_
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::string gathered_;   // framed records
  std::size_t taken_ = 0;  // bytes of writing_
  std::uint64_t dropped_ = 0;
  bool failing_ = false;
  bool waiting_ = false;     // the thread will write what is gathered at due_ns_
  bool no_thread_ = false;   // there can be none
  std::int64_t due_ns_ = 0;  // on the monotonic clock
  double wait_secs_ = 0;     // until the next records are due
  std::vector<std::string> warnings_;
  std::set<std::string, std::less<>> tags_with_metadata_;
  std::set<std::string> tags_not_finite_;
  std::set<std::string, std::less<>> run_metadata_tags_;  // of add_run_metadata
  std::int64_t traced_step_ = -1;                         // the last one of add_step_trace
  // Messages that every event uses again, with their memory.
  const std::unique_ptr<pb::Event> scalar_;
  const std::unique_ptr<pb::Event> summary_head_;  // all but the summary

  // ---- under file_mutex_
  mutable std::mutex file_mutex_;
  std::string name_;
  std::unique_ptr<OpenFile> file_;
  bool file_has_version_ = false;
  std::uint64_t file_bytes_ = 0;  // that were written as a whole
  std::string writing_;

  BackgroundThread thread_{"belay-events"};  // the last: it ends before what it uses
};

// The tag as add_scalar writes it.
std::string clean_tag(std::string_view tag);

}  // namespace belay::runtime
