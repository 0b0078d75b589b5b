// SPDX-License-Identifier: Apache-2.0
// A file in the run directory that grows with the training and has each step once. When a session continues, the file
// has the lines up to its step and no later ones.
//
//   belay::GrowingFile file_{host(), path, "global_step,loss"};
//   void after_create_session(belay::Session& session) override { file_.session_created(step_.read(session)); }
//   void after_run(...) override { ... file_.add(step, std::to_string(step) + ",0.5"), file_.flush(); ... }
//   void before_save(belay::Session&, std::int64_t) override { file_.sync(); }
//   void end(belay::Session&) override { file_.sync(); }
//   void save_state(belay::StateWriter& state) const override { file_.save(state); }
//   void load_state(const belay::StateReader& state) override { file_.load(state); }
//
// The first number in a line is its global step. By this number the file finds lines of repeated steps. Steps are
// repeated after a resume, after a recovery with or without a checkpoint, and if another process has trained past the
// last checkpoint. An error of the disk does not end the training (lines_file.h). It is a member of a hook, [session].
#pragma once

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "belay/hook.h"
#include "belay/lines_file.h"
#include "belay/output_file.h"  // path_in_run_directory

namespace belay {
inline namespace v0 {

// The file, as a LinesFile with one line per step.
class GrowingFile {
 public:
  // Takes the arguments of LinesFile. It opens no file yet.
  GrowingFile(const Host& host, std::string path, std::string_view header = {})
      : host_(host), file_(host, std::move(path), header) {}

  // Call it in each after_create_session: removes lines of later steps than the session's. FAILED_PRECONDITION: the
  // process begins with a file that is not the run's: a link, a pipe, or a file with another header.
  void session_created(std::int64_t step) {
    const bool first = !std::exchange(begun_, true);
    const std::int64_t restored = std::exchange(restored_, 0);
    const bool is_new = first && restored == 0 && step == 0;
    if (first) refuse_foreign();
    file_.flush();
    if (file_.open(is_new)) {
      if (first && !is_new) check_header();
      if (first || restored != 0 || last_step_ > step) cut_behind(step, restored);
      file_.flush();
    }
    last_step_ = step;
  }

  // Adds a line, given without its end. INVALID_ARGUMENT: its first number is not the step.
  void add(std::int64_t step, std::string_view line) {
    if (step_of(line) != step)
      fail(Code::kInvalidArgument, "a line of step " + std::to_string(step) + " in '" + file_.path() +
                                       "' has another first number: " + std::string(line));
    file_.add(line);
    last_step_ = step;
  }
  // Writes the lines to the file, for other readers.
  void flush() { file_.flush(); }
  // Writes the lines to the disk, so a checkpoint never counts bytes that a crash loses.
  void sync() { file_.sync(); }

  // Call them in save_state and load_state. They use the key "bytes".
  void save(StateWriter& state) const { state.put("bytes", file_.is_open() ? file_.size() : restored_); }
  void load(const StateReader& state) { restored_ = state.integer("bytes"); }

 private:
  // The first number of a line; empty: it has none.
  static std::optional<std::int64_t> step_of(std::string_view line) {
    const std::size_t digit = line.find_first_of("0123456789");
    std::int64_t step = 0;
    if (digit == line.npos || std::from_chars(line.data() + digit, line.data() + line.size(), step).ec != std::errc())
      return std::nullopt;
    return step;
  }

  [[noreturn]] void refuse(const std::string& why, const std::string& fix) const {
    fail(Code::kFailedPrecondition, "'" + file_.path() + "' " + why + "; " + fix);
  }
  void refuse_foreign() const {
    if (const std::string why = file_.why_foreign(); !why.empty())
      refuse("cannot be written: " + why, "remove it, or give another 'output_file'");
  }
  void check_header() const {
    const std::string& header = file_.header();
    if (file_.size() != 0 && file_.read_at(0, header.size()) != header)
      refuse("has other columns than '" + header.substr(0, header.size() - 1) + "', which this run writes",
             "move it away, or give another 'output_file'");
  }

  // Removes lines of later steps. The first bytes, which a checkpoint counted, have none.
  void cut_behind(std::int64_t step, std::int64_t restored) {
    const auto header = static_cast<std::int64_t>(file_.header().size());
    std::int64_t kept = std::max(restored, header);
    if (const std::int64_t bytes = file_.size(); bytes < kept) {
      if (restored != 0)
        host_.warning("'" + file_.path() + "' has lost lines: " + std::to_string(bytes) + " of the " +
                      std::to_string(restored) +
                      " bytes that the last checkpoint counted are left; the run continues " + "after them");
      kept = std::min(header, bytes);
    }
    std::string text;  // after the part that is certainly kept
    for (;;) {
      const std::string more = file_.read_at(kept + static_cast<std::int64_t>(text.size()), kChunk);
      text += more;
      std::size_t line = 0;
      for (std::size_t end; (end = text.find('\n', line)) != text.npos; line = end + 1)
        if (step_of(std::string_view(text).substr(line, end - line)) > step) {
          file_.cut(kept + static_cast<std::int64_t>(line));
          return;
        }
      kept += static_cast<std::int64_t>(line);
      text.erase(0, line);
      if (more.empty()) break;
    }
    if (!text.empty()) file_.cut(kept);  // an incomplete line
  }

  static constexpr std::size_t kChunk = 1 << 16;

  const Host& host_;
  LinesFile file_;
  std::int64_t restored_ = 0;   // bytes from load, until the session begins
  std::int64_t last_step_ = 0;  // of the last line, at most
  bool begun_ = false;
};

}  // namespace v0
}  // namespace belay
