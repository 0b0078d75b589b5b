// SPDX-License-Identifier: Apache-2.0
// Writes a run's TensorBoard event file: scalars, summaries, the graph, and the log of sessions.
//
//   EventWriter events(run, clock, {.on_warning = [&](std::string_view text) { log.warning("events", text); }});
//   events.add_session_log(EventWriter::kStart, step + 1);
//   events.add_scalar("loss", step, loss);     // a few hundred nanoseconds, no call of the system
//   events.flush();                            // all of it is in the file
//
// One object is one new file named events.out.tfevents.<seconds>.<host>.<pid>.<counter><suffix>. An attempt never
// appends to another's file. TensorBoard reads files in the order of their names and drops earlier ones. So the name
// sorts after the existing names, for any time of the clock. Its seconds may be later than the clock's. The first
// record, the version, is in the file when the constructor returns.
//
// An add makes the record in memory and returns. A thread, belay-events, writes the records flush_secs after the first
// of them was added. It also writes as soon as there are 256 KiB. flush() and the destructor write them at once. The
// first wait is 2 s. Each later one is twice as long, up to flush_secs. So a crash loses the records of the last
// flush_secs. If 8 MiB wait for a slow disk, an add writes them itself, and so waits for the disk.
//
// Nothing here ends training. If the file cannot be written, the next flush tries a new file. The old one may end in
// half a record, and readers stop there. Its whole records are not repeated. If writing still fails, the oldest 8 MiB
// stay, and new records are dropped and counted. If the file is deleted under the writer, a new one follows. on_warning
// gets each warning once. The next add, flush() or the destructor calls it, never the thread. If no thread is possible,
// that is a warning. Then flush(), the destructor and an add above 8 MiB write the records.
//
// [any thread] Each member below belongs to one of two locks. `mutex_` guards the added records and all that an add
// reads. It is held for moments, never during a call of the system. `file_mutex_` guards the file and the records on
// their way into it. Its holder, the thread or a caller of flush(), writes. It takes `mutex_` inside it, to exchange
// the two buffers and to note the result. So the order is file_mutex_, then mutex_, and no lock is held while
// on_warning is called. BackgroundThread joins the thread before anything that it uses is destroyed.
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

#include "runtime/platform/files/file_system.h"
#include "runtime/platform/threads/background_thread.h"
#include "runtime/platform/threads/clock.h"

namespace belay::pb {
class Event;
class Summary;
}  // namespace belay::pb

namespace belay::runtime {

struct EventWriterOptions {
  std::string host;      // empty: this machine's name
  std::int64_t pid = 0;  // 0: this process
  std::string suffix;    // at the end of each file's name
  double flush_secs = 120;
  std::function<void(std::string_view)> on_warning;  // may be empty
};

class EventWriter {
 public:
  enum SessionStatus { kStart = 1, kStop = 2, kCheckpoint = 3 };  // like BELAY_SESSION_*

  // `directory` and `clock` must outlive the object.
  EventWriter(OpenDirectory& directory, Clock& clock, EventWriterOptions options = {});
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;
  // Flushes, however long flush_secs is.
  ~EventWriter();

  // A tag's characters other than letters, digits, '_', '.', '/', '-' become '_'. A '/' at its start is removed. NaN
  // and infinity are written unchanged; a tag's first one is a warning, unless another one reported it.
  void add_scalar(std::string_view tag, std::int64_t step, double value, bool is_said = false);
  // Adds a serialized Summary message. INVALID_ARGUMENT: it is none. Only a tag's first value keeps its metadata.
  void add_summary(std::string_view summary, std::int64_t step);
  // Adds a serialized GraphDef message.
  void add_graph(std::string_view graph_def, std::int64_t step = 0);
  // Adds a serialized RunMetadata message of one run of the session. INVALID_ARGUMENT: the tag was used before.
  void add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step);
  // Adds that of the run that made a step, under the tag "step_N". False: it adds nothing, since that step or a later
  // one has a message already. It remembers only the last step, since a run may have millions.
  bool add_step_trace(std::string_view run_metadata, std::int64_t step);
  // Adds kStart at the first step of this attempt. TensorBoard drops the records of earlier attempts from there on.
  void add_session_log(SessionStatus status, std::int64_t step, std::string_view checkpoint_path = {});

  // Passes everything to the system. It does not sync, so a power failure may lose the last points of a plot.
  void flush() noexcept;
  // Lets the thread flush now, and returns at once.
  void start_flush() noexcept;

  // Returns the name in the directory; empty: no file could be made yet.
  std::string file_name() const;

 private:
  // Remembers the tags that were written.
  struct KnownTags {
    std::set<std::string, std::less<>> with_metadata;  // in the file that is open
    std::set<std::string> not_finite;                  // a warning named them
    std::set<std::string, std::less<>> run_metadata;   // of add_run_metadata
    std::int64_t traced_step = -1;                     // the last one of add_step_trace
  };

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
  bool waiting_ = false;     // the thread will write the gathered records at due_ns_
  bool no_thread_ = false;   // no thread is possible
  std::int64_t due_ns_ = 0;  // on the monotonic clock
  double wait_secs_ = 0;     // until the next records are due
  std::vector<std::string> warnings_;
  KnownTags tags_;
  // Messages that every event uses again, with their memory.
  const std::unique_ptr<pb::Event> scalar_;
  const std::unique_ptr<pb::Event> summary_head_;  // all but the summary

  // ---- under file_mutex_
  mutable std::mutex file_mutex_;
  std::string name_;
  std::unique_ptr<OpenFile> file_;
  bool file_has_version_ = false;
  std::uint64_t file_bytes_ = 0;  // of whole writes
  std::string writing_;

  BackgroundThread thread_{"belay-events"};  // the last member: it ends before the others are destroyed
};

// Returns the tag in the form that add_scalar writes.
std::string clean_tag(std::string_view tag);

}  // namespace belay::runtime
