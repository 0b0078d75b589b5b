// SPDX-License-Identifier: Apache-2.0
#include <belay/output_file.h>
#include <belay/plugin.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string>

namespace {

class StopFile final : public belay::Hook {
 public:
  struct Options {
    belay::Str file_name = "STOP";
    std::int64_t every_n_steps = 10;
    bool remove = true;
  };
  static constexpr auto about = belay::about(
      "stop_file", "Stops the run when a file appears in the run directory, for example by touch RUN/STOP",
      belay::option("file_name", &Options::file_name, "name of the file in the run directory").watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the checks, in runs of the session")
          .min(1)
          .watching(),
      belay::option("remove", &Options::remove,
                    "true: removes the file when the hook stops the run, so that the next start continues")
          .watching());

  explicit StopFile(const Options& o)
      : every_n_steps_(o.every_n_steps),
        remove_(o.remove),
        path_(belay::path_in_run_directory(host(), "stop_file", "file_name", o.file_name.view())) {}

  // If the file was made while no run was there, it stops this run before its first step.
  void after_create_session(belay::Session& session) override {
    if (is_there()) session.coordinator().request_stop(reason());
  }
  void after_run(belay::RunContext& run, const belay::RunValues&) override {
    if (run.number() % every_n_steps_ == 0 && is_there()) run.request_stop(reason());
  }
  // The file is removed at the end, not when it is found. So a run that is killed before its last checkpoint stops
  // again.
  void end(belay::Session&) override {
    if (found_ && remove_ && unlink(path_.c_str()) != 0 && errno != ENOENT)
      host().warning("'" + path_ + "' cannot be removed, and will stop the next start too: " + std::strerror(errno));
  }

 private:
  bool is_there() {
    found_ = access(path_.c_str(), F_OK) == 0;
    return found_;
  }
  std::string reason() const { return "there is '" + path_ + "'"; }

  const std::int64_t every_n_steps_;
  const bool remove_;
  const std::string path_;
  bool found_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", StopFile)
