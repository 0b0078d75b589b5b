// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/saving/save_warnings.h"

#include <fmt/core.h>

#include <utility>

#include "belay/tensor_text.h"
#include "runtime/platform/text/fixed_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

void SaveWarnings::say_if_disk_is_full(const DirectSession& session, const std::string& directory) {
  std::uint64_t needed = 0;
  for (const Variable* v : session.variables()) needed += v->value.bytes();
  try {
    const std::uint64_t room = environment_.files.free_bytes(directory);
    if (room == 0 || room >= needed || std::exchange(said_disk_, true)) return;
    environment_.log.warning("", fmt::format("a checkpoint of this model takes {} bytes, and the disk of {} has {} "
                                             "free: nothing is saved until there is room",
                                             needed, single_quoted(directory), room));
  } catch (const Error&) {
    return;  // unknown
  }
}

// A signal's save begins after the current step, and after the current save. So it has less than the whole grace.
void SaveWarnings::say_if_slower_than_grace(double seconds, double grace, bool in_background) {
  constexpr double kPartForTheSave = 0.8;
  if (grace <= 0 || seconds * (in_background ? 2 : 1) <= grace * kPartForTheSave || said_grace_) return;
  said_grace_ = true;
  environment_.log.warning("", "a save takes " + fixed_text(seconds, 1) + " s, and after a signal the run has " +
                                   rounded_text(grace) + " s" +
                                   (in_background ? ", for the one that is being written and for the last one" : "") +
                                   ": its last checkpoint may not be written; raise signal_grace_secs");
}

// If a run saves faster than its disk writes, it waits again and again.
void SaveWarnings::say_that_it_waits(std::int64_t step, std::int64_t being_written) {
  if (std::exchange(said_wait_, true)) return;
  environment_.log.info(
      "", fmt::format("step {} is to be saved while the checkpoint of step {} is still being written: training waits "
                      "for it, now and whenever saves come faster than they can be written",
                      step, being_written));
}

}  // namespace belay::runtime
