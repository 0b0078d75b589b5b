// SPDX-License-Identifier: Apache-2.0
// Reads the numbers of /proc/PID/status; see proc(5).
#pragma once

#include <fstream>
#include <optional>
#include <sstream>
#include <string>

struct ProcStatus {
  std::optional<double> rss_bytes;       // VmRSS
  std::optional<double> peak_rss_bytes;  // VmHWM
  std::optional<double> threads;
};

// Numbers that the file lacks stay empty. If it cannot be read, all do.
inline ProcStatus read_proc_status(const std::string& path) {
  constexpr double kKilobyte = 1024;
  ProcStatus status;
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    std::istringstream words(line);
    std::string key;
    double value = 0;
    if (!(words >> key >> value)) continue;
    if (key == "VmRSS:") status.rss_bytes = value * kKilobyte;
    if (key == "VmHWM:") status.peak_rss_bytes = value * kKilobyte;
    if (key == "Threads:") status.threads = value;
  }
  return status;
}
