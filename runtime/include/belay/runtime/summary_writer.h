// SPDX-License-Identifier: Apache-2.0
// The event file of a supervisor, for a program's own records for TensorBoard.
//
//   belay::SummaryWriter events = supervisor.summary_writer();
//   if (events) events.add_scalar("rate", step, rate);
//
// All writers of a supervisor, its services and summary_computed write to one file, in the order of the calls. It is
// opened when a session is prepared. The supervisor's stop closes it, unless close_summary_writer is off. Records that
// are added while it is closed are dropped, with a warning in the log, like in TensorFlow. An add makes the record in
// memory; a thread writes it, events_flush_secs later at the latest. Errors of the disk are warnings, never errors
// here.
//
// A copy is the same file. It is valid as long as the supervisor. [any]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belay {

class SummaryWriter {
 public:
  // Makes the writer of a supervisor that keeps no events. Every call except the conversion to bool fails with
  // FAILED_PRECONDITION.
  SummaryWriter() = default;

  // True if there is a file, now or when a session is prepared.
  explicit operator bool() const noexcept { return insides_ != nullptr; }

  // Adds one point to the curve `tag`, at this step, stored as float32. Characters of the tag other than letters,
  // digits, '_', '.', '/' and '-' become '_'.
  void add_scalar(std::string_view tag, std::int64_t step, double value) const;
  // Adds the bytes that a summary operation computes: a serialized Summary message. INVALID_ARGUMENT: other bytes.
  void add_summary(std::string_view summary, std::int64_t step) const;
  // Adds a serialized RunMetadata message of TensorFlow for one run. INVALID_ARGUMENT: the file has this tag already.
  void add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step) const;
  // Returns when the file has all that was added.
  void flush() const;

  // For Belay itself.
  struct Insides;
  explicit SummaryWriter(std::shared_ptr<Insides> insides) : insides_(std::move(insides)) {}

 private:
  Insides& insides() const;
  std::shared_ptr<Insides> insides_;
};

}  // namespace belay
