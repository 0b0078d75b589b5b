// SPDX-License-Identifier: Apache-2.0
// The entries of the event files of a directory.
#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "runtime/events/event_reader.h"
#include "runtime/platform/files/file_system.h"

namespace belay::runtime::testing {

struct EventFiles {
  int files = 0;
  int graphs = 0;
  std::map<std::string, std::vector<std::int64_t>> steps;                       // of the values, by tag
  std::map<std::string, std::vector<float>> values;                             // of scalars, by tag
  std::vector<std::string> checkpoints;                                         // paths in the session log
  std::map<pb::SessionLog::SessionStatus, std::vector<std::int64_t>> sessions;  // steps of the log, by status
  std::map<std::string, std::vector<std::string>> traced;                       // the nodes of a traced run, by tag
};

inline EventFiles read_event_files(const std::string& path) {
  EventFiles found;
  const std::unique_ptr<OpenDirectory> directory = posix_file_system().open_directory(path);
  for (const std::string& name : directory->entries()) {
    if (!name.starts_with("events.out.tfevents.")) continue;
    ++found.files;
    EventReader events(directory->open(name));
    for (pb::Event event; events.next(event);) {
      if (event.has_graph_def()) ++found.graphs;
      if (event.has_tagged_run_metadata()) {
        pb::RunMetadata run;
        EXPECT_TRUE(run.ParseFromString(event.tagged_run_metadata().run_metadata()));
        std::vector<std::string>& nodes = found.traced[event.tagged_run_metadata().tag()];
        for (const pb::DeviceStepStats& device : run.step_stats().dev_stats())
          for (const pb::NodeExecStats& node : device.node_stats()) nodes.push_back(node.node_name());
      }
      if (event.has_session_log()) found.sessions[event.session_log().status()].push_back(event.step());
      if (event.session_log().status() == pb::SessionLog::CHECKPOINT)
        found.checkpoints.push_back(event.session_log().checkpoint_path());
      for (const pb::Summary::Value& value : event.summary().value()) {
        found.steps[value.tag()].push_back(event.step());
        found.values[value.tag()].push_back(value.simple_value());
      }
    }
  }
  return found;
}

}  // namespace belay::runtime::testing
