// SPDX-License-Identifier: Apache-2.0
#include "runtime/reduce/trial.h"

#include <cctype>
#include <fstream>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/platform/process/child_program.h"

namespace belay::runtime {
namespace {

std::string without_numbers(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (std::isdigit(static_cast<unsigned char>(c)) == 0)
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

// "train.toml:3:1: error[B1003]: unknown key", or without a code.
bool is_of_manifest(const std::string& line) {
  return line.find(": error: ") != std::string::npos || line.find(": error[B") != std::string::npos;
}

}  // namespace

bool TrialEnd::is_like(const TrialEnd& other) const {
  return status == other.status && timed_out == other.timed_out &&
         without_numbers(message) == without_numbers(other.message);
}

TrialEnd run_trial(const std::string& belay, const std::string& manifest, const std::vector<std::string>& more,
                   double seconds, const std::atomic<int>* signal) {
  std::vector<std::string> arguments{"run", manifest, "--log-format=json"};
  arguments.insert(arguments.end(), more.begin(), more.end());
  const std::string log = manifest + ".log";
  const ProgramEnd outcome = run_programs({{belay, std::move(arguments), log}}, seconds, signal)[0];
  TrialEnd end{.status = outcome.status, .timed_out = outcome.timed_out, .message = {}};
  std::ifstream lines(log);
  for (std::string line; std::getline(lines, line);) {
    if (end.message.empty() && is_of_manifest(line)) end.message = line;  // the manifest's
    const auto json = nlohmann::json::parse(line, nullptr, false);
    if (json.is_object() && json.value("level", "") == "error") end.message = json.value("message", "");
  }
  return end;
}

}  // namespace belay::runtime
