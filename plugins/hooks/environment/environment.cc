// SPDX-License-Identifier: Apache-2.0
#include <belay/output_file.h>
#include <belay/plugin.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <vector>

#include "git_commit.h"

namespace {

using json = nlohmann::ordered_json;

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the words of /proc/PID/cmdline, each of which ends with a zero byte.
json words(const std::string& text) {
  json list = json::array();
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\0', begin), text.size());
    list.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return list;
}

// Returns the first value of "model name : X" in /proc/cpuinfo, or of "MemTotal: X" in /proc/meminfo.
std::string field(const std::string& text, const std::string& key) {
  std::size_t at = text.find(key);
  if (at == text.npos || (at = text.find(':', at)) == text.npos) return "";
  const std::string line = text.substr(at + 1, text.find('\n', at) - at - 1);
  const std::size_t begin = line.find_first_not_of(" \t");
  return begin == line.npos ? "" : line.substr(begin);
}

class Environment final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> variables;
    belay::Str output_file = "environment";
  };
  static constexpr auto about = belay::about(
      "environment", "Records where a run was started: machine, command line, commit and attempt",
      belay::option("variables", &Options::variables,
                    "environment variables to record, by name or as PREFIX_*; if empty, BELAY_*, OMP_* and SLURM_*")
          .watching(),
      belay::option(
          "output_file", &Options::output_file,
          "first part of the file's name in the run directory, NAME-ATTEMPT.json; if empty, no file is written")
          .watching());

  explicit Environment(const Options& o) : output_file_(o.output_file) {
    for (const belay::Str& name : o.variables) variables_.emplace_back(name);
    if (variables_.empty()) variables_ = {"BELAY_*", "OMP_*", "SLURM_*"};
    belay::check_file_name("output_file", output_file_);
  }

  void after_create_session(belay::Session& session) override {
    const std::int64_t step = session.global_step().value_or(0);
    const belay::Events events(host());
    if (begun_) {
      events.scalar("recoveries", step, static_cast<double>(++recoveries_));
      return;
    }
    begun_ = true;
    events.scalar("attempt", step, static_cast<double>(host().attempt()));
    if (host().attempt() > 1)
      host().info("attempt " + std::to_string(host().attempt()) + ", from step " + std::to_string(step) + ", after " +
                  std::to_string(recoveries_) + " recoveries inside the attempts before");
    write();
  }

  void save_state(belay::StateWriter& state) const override { state.put("recoveries", recoveries_); }
  void load_state(const belay::StateReader& state) override {
    if (!begun_) recoveries_ = state.integer("recoveries");  // a recovery goes back in steps, but the count continues
  }

 private:
  bool is_asked_for(const std::string& name) const {
    return std::any_of(variables_.begin(), variables_.end(), [&](const std::string& wanted) {
      if (wanted.empty() || wanted.back() != '*') return name == wanted;
      return name.compare(0, wanted.size() - 1, wanted, 0, wanted.size() - 1) == 0;
    });
  }
  json variables() const {
    json found = json::object();
    for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
      const std::string text = *entry;
      const std::size_t equals = text.find('=');
      if (equals != text.npos && is_asked_for(text.substr(0, equals)))
        found[text.substr(0, equals)] = text.substr(equals + 1);
    }
    return found;
  }
  json content() const {
    utsname system{};
    uname(&system);
    char directory[4096] = "";
    const char* working = getcwd(directory, sizeof(directory));
    const std::string at = working == nullptr ? "" : working;
    return {{"attempt", host().attempt()},
            {"started", static_cast<std::int64_t>(host().wall_seconds())},
            {"seed", host().seed()},
            {"rank", host().rank()},
            {"ranks", host().ranks()},
            {"command_line", words(text_of("/proc/self/cmdline"))},
            {"working_directory", at},
            {"git_commit", git_commit(at)},
            {"host", system.nodename},
            {"process", getpid()},
            {"kernel", std::string(system.sysname) + " " + system.release},
            {"processor", field(text_of("/proc/cpuinfo"), "model name")},
            {"processors", std::thread::hardware_concurrency()},
            {"memory", field(text_of("/proc/meminfo"), "MemTotal")},
            {"variables", variables()}};
  }
  void write() const {
    if (output_file_.empty() || host().run_directory().empty()) return;
    const std::string path =
        host().run_directory() + "/" + output_file_ + "-" + std::to_string(host().attempt()) + ".json";
    bool warned = false;
    belay::replace_or_warn(host(), path, content().dump(2, ' ', false, json::error_handler_t::replace) + "\n", warned);
  }

  const std::string output_file_;
  std::vector<std::string> variables_;
  std::int64_t recoveries_ = 0;
  bool begun_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", Environment)
