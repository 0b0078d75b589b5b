// SPDX-License-Identifier: Apache-2.0
// The event file of a supervisor, for what a program itself has to say to TensorBoard.
//
//   belay::SummaryWriter events = supervisor.summary_writer();
//   if (events) events.add_scalar("rate", step, rate);
//
// All writers of a supervisor, its services and summary_computed write to one file, in the order of the calls. It is
// opened when a session is prepared, and closed by the supervisor's stop, unless close_summary_writer is off. What is
// added while it is closed is dropped, with a warning in the log, as TensorFlow's writer has it. An add makes the
// record in memory; a thread writes it, events_flush_secs later at the latest. Errors of the disk are warnings, never
// errors here.
//
// A copy is the same file. Valid as long as the supervisor. [any thread]
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace belay {

class SummaryWriter {
 public:
  // Of a supervisor that keeps no events. Every call but the question fails with FAILED_PRECONDITION.
  SummaryWriter() = default;

  // Whether there is a file, now or once a session is prepared.
  explicit operator bool() const noexcept { return insides_ != nullptr; }

  // One point of the curve `tag`, at this step; stored as float32. Characters of the tag other than letters, digits,
  // '_', '.', '/' and '-' become '_'.
  void add_scalar(std::string_view tag, std::int64_t step, double value) const;
  // The bytes that a summary operation computes: a serialized Summary message. INVALID_ARGUMENT for others.
  void add_summary(std::string_view summary, std::int64_t step) const;
  // A serialized RunMetadata message of TensorFlow's, of one run. INVALID_ARGUMENT for a tag that the file has already.
  void add_run_metadata(std::string_view tag, std::string_view run_metadata, std::int64_t step) const;
  // All that was added is in the file when it returns.
  void flush() const;

  // For Belay itself.
  struct Insides;
  explicit SummaryWriter(std::shared_ptr<Insides> insides) : insides_(std::move(insides)) {}

 private:
  Insides& insides() const;
  std::shared_ptr<Insides> insides_;
};

}  // namespace belay
