// SPDX-License-Identifier: Apache-2.0
// A run that does nothing but save, made to be killed: takes the lock, cleans up, restores, checks every restored bit,
// and saves step after step. On stdout: "restored N" (-1: nothing), then "saved N" once a save is announced as done, or
// "failed N"; it continues then.
//
//   save_loop DIRECTORY SAVER for-ever   until it is killed
//   save_loop DIRECTORY SAVER once       stops itself (SIGSTOP) after restoring, then saves the restored step again and
//                                        the next one, and ends
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <string>
#include <string_view>

#include "runtime/checkpoint/directory/checkpoint_series.h"
#include "runtime/checkpoint/directory/leftovers.h"
#include "runtime/checkpoint/directory/run_lock.h"
#include "runtime/checkpoint/read/find_restorable.h"
#include "tests/checkpoint/checkpoint_fixture.h"

extern "C" const belay_module belay_module_stdio_saver;
extern "C" const belay_module belay_module_tf_bundle;

namespace belay::runtime {
namespace {

constexpr std::size_t kElements = 20'000;

void say(const std::string& text) {
  if (write(STDOUT_FILENO, text.data(), text.size()) != static_cast<ssize_t>(text.size())) _exit(4);
}

const belay_module& module_of(const std::string& saver) {
  if (saver == "safetensors") return belay_module_safetensors;
  if (saver == "stdio_saver") return belay_module_stdio_saver;
  if (saver == "tf_bundle") return belay_module_tf_bundle;
  fail(Code::kNotFound, "there is no saver '" + saver + "' here");
}

int save_loop(const std::string& directory, const std::string& name, bool once) {
  RecordingLogger log;
  const LinkedSaver saver(module_of(name), name);
  const auto run = posix_file_system().open_directory(directory);
  const RunLock lock = RunLock::take(*run, system_clock());
  remove_leftovers(*run, log);
  CheckpointSeries series(posix_file_system(), *run, system_clock(), log, {.max_to_keep = 3});
  series.recover();
  std::int64_t step = 0;
  if (const auto reader = find_restorable(*run, log)) {
    step = reader->state().global_step;
    const std::string difference = StepContent(step, kElements).difference(*reader, saver.use());
    if (!difference.empty()) fail(Code::kDataLoss, "restored step " + std::to_string(step) + " differs: " + difference);
    series.restored(reader->name());
    say("restored " + std::to_string(step) + "\n");
  } else {
    say("restored -1\n");
  }
  if (once) raise(SIGSTOP);
  for (const std::int64_t last = step + 1; !once || step <= last; ++step) {
    const StepContent content(step, kElements);
    try {
      series.save(content.content(), saver.use());
    } catch (const Error&) {
      say("failed " + std::to_string(step) + "\n");
      continue;
    }
    say("saved " + std::to_string(step) + "\n");
    series.retain();
  }
  return 0;
}

}  // namespace
}  // namespace belay::runtime

int main(int argc, char** argv) {
  try {
    return argc != 4 ? 2 : belay::runtime::save_loop(argv[1], argv[2], std::string_view(argv[3]) == "once");
  } catch (const std::exception& e) {
    std::fprintf(stderr, "save_loop: %s\n", e.what());
    return 3;
  }
}
