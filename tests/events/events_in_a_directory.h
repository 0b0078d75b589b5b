// SPDX-License-Identifier: Apache-2.0
// A writer of events in a temporary directory, by a clock that a test moves and files that fail when the test asks for
// it.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/events/event_reader.h"
#include "runtime/events/event_writer.h"
#include "tests/platform/fake_clock.h"
#include "tests/platform/faulty_file_system.h"
#include "tests/platform/temp_dir.h"

namespace belay::runtime {

class EventsTest : public ::testing::Test {
 protected:
  EventWriterOptions options() {
    EventWriterOptions o;
    o.host = "node-1";
    o.pid = 4711;
    o.on_warning = [this](std::string_view text) { warnings_.emplace_back(text); };
    return o;
  }
  std::vector<pb::Event> read(const std::string& name) {
    EventReader reader(run_->open(name));
    std::vector<pb::Event> events;
    for (pb::Event event; reader.next(event);) events.push_back(event);
    return events;
  }
  // Until the thread has written so many records.
  void await_events(const std::string& name, std::size_t n) {
    while (read(name).size() < n) std::this_thread::yield();
    EXPECT_EQ(read(name).size(), n);
  }
  // "version", "loss=0.5@3", "start@1", ... of a file.
  std::vector<std::string> shown(const std::string& name) {
    std::vector<std::string> lines;
    for (const pb::Event& e : read(name)) {
      const std::string at = "@" + std::to_string(e.step());
      if (e.what_case() == pb::Event::kFileVersion) lines.push_back(e.file_version());
      if (e.what_case() == pb::Event::kGraphDef) lines.push_back("graph " + e.graph_def() + at);
      if (e.what_case() == pb::Event::kTaggedRunMetadata)
        lines.push_back(e.tagged_run_metadata().tag() + " " + e.tagged_run_metadata().run_metadata() + at);
      if (e.what_case() == pb::Event::kSessionLog)
        lines.push_back(pb::SessionLog::SessionStatus_Name(e.session_log().status()) + " " +
                        e.session_log().checkpoint_path() + at);
      for (const pb::Summary::Value& v : e.summary().value()) {
        std::string value = std::to_string(v.simple_value());
        value.resize(value.find('.') + 2 < value.size() ? value.find('.') + 2 : value.size());
        lines.push_back(v.tag() + "=" + value + (v.has_metadata() ? "+metadata" : "") + at);
      }
    }
    return lines;
  }

  TempDir dir_;
  FakeClock clock_;
  FaultyFileSystem files_{posix_file_system()};
  std::unique_ptr<OpenDirectory> run_ = files_.open_directory(dir_.path());
  std::vector<std::string> warnings_;
};

}  // namespace belay::runtime
