// SPDX-License-Identifier: Apache-2.0
// A run directory as trainings leave it, written event by event.
#pragma once

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <string>

#include "runtime/events/event_writer.h"
#include "runtime/events/hparams.h"
#include "runtime/events/proto/event.pb.h"
#include "runtime/platform/log/logger.h"
#include "runtime/report/run_record.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {

class QuietLogger final : public Logger {
 public:
  void log(LogLevel, std::string_view, std::string_view) override {}
  bool enabled(LogLevel) const override { return false; }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}
};

class RunDirectoryTest : public ::testing::Test {
 protected:
  // One attempt, or one of a folder below: a loss of 1/step at each step from `first` to `last`, ten steps a second.
  // `more` writes other entries after them. Returns the file's name.
  std::string attempt(std::int64_t first, std::int64_t last, const std::string& folder = "",
                      const std::function<void(EventWriter&)>& more = {}) {
    const auto directory = posix_file_system().make_directories(dir_ / folder);
    clock_.advance(5 * FakeClock::kSecond);
    EventWriter writer(*directory, clock_, {.host = "node", .pid = 7, .suffix = {}, .on_warning = {}});
    writer.add_session_log(EventWriter::kStart, first);
    for (std::int64_t step = first; step <= last; ++step) {
      clock_.advance(FakeClock::kSecond / 10);
      writer.add_scalar("loss", step, 1 / static_cast<double>(step));
    }
    if (more) more(writer);
    return writer.file_name();
  }
  void finish(EventWriter& writer) { writer.add_summary(hparams_of_end(true, 0), 0); }

  static void add_text(EventWriter& writer, const std::string& tag, const std::string& text) {
    pb::Summary summary;
    pb::Summary::Value& v = *summary.add_value();
    v.set_tag(tag);
    v.mutable_metadata()->mutable_plugin_data()->set_plugin_name("text");
    v.mutable_tensor()->set_dtype(pb::DT_STRING);
    v.mutable_tensor()->add_string_val(text);
    writer.add_summary(summary.SerializeAsString(), 1);
  }
  static void add_image(EventWriter& writer, const std::string& tag, const std::string& bytes, std::int64_t step) {
    pb::Summary summary;
    pb::Summary::Value& v = *summary.add_value();
    v.set_tag(tag);
    v.mutable_image()->set_encoded_image_string(bytes);
    writer.add_summary(summary.SerializeAsString(), step);
  }
  static void add_histogram(EventWriter& writer, const std::string& tag, std::int64_t step) {
    pb::Summary summary;
    pb::Summary::Value& v = *summary.add_value();
    v.set_tag(tag);
    pb::HistogramProto& h = *v.mutable_histo();
    h.set_min(-1), h.set_max(2), h.set_num(6);
    for (const double limit : {0.0, 1.0, 1.7976931348623157e308}) h.add_bucket_limit(limit);
    for (const double count : {1, 3, 2}) h.add_bucket(count);
    writer.add_summary(summary.SerializeAsString(), step);
  }

  // That of an attempt; `more` is appended.
  void manifest(int attempt, const std::string& more) const {
    std::ofstream(dir_ / ("manifest-000" + std::to_string(attempt) + ".toml"))
        << "[run]\ndir = \"/run\"\nmax_steps = 10\n[input.train]\nplugin = \"numbers\"\n[model]\nplugin = \"linear\"\n"
        << more;
  }
  RunRecord read() { return read_run(posix_file_system(), dir_.path(), log_); }

  TempDir dir_;
  FakeClock clock_;
  QuietLogger log_;
};

}  // namespace belay::runtime
