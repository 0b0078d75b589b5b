// SPDX-License-Identifier: Apache-2.0
// Writes one checkpoint. A crash at any moment leaves it whole or absent.
//
//   1. model.ckpt-N.tmp-<random>/ is made
//   2. the saver writes its files into it; each is checksummed while it passes, and synced before it closes
//      the variables have the same bits after it: the saver may only read them
//   3. `state.data` if hooks keep tensors, `manifest.toml`, `schema.json`, `state`, then `index`, each synced; then the
//      directory; on request all of it is read back through the saver and compared
//   4. renamed to model.ckpt-N; an older one of the same step is first renamed to model.ckpt-N.old-<random>
//   5. the run directory is synced; the renamed older one is removed
//
// An exception undoes everything: the temporary directory is removed, and the older checkpoint has its name again.
// After a crash, remove_leftovers (leftovers.h) cleans up when the next run starts.
#pragma once

#include <string>

#include "belay/runtime/checkpoint_settings.h"
#include "runtime/checkpoint/format/content.h"
#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/platform/files/file_system.h"
#include "runtime/platform/log/logger.h"

namespace belay::runtime {

struct HowToWrite {
  bool pinned = false;  // it gets the mark of pinned.h before it has its name
  bool read_back = false;
};
// Returns the checkpoint's name in `run`. Errors keep their code and name the action:
//   DIVERGED            a variable is not finite, and settings.refuse_non_finite; nothing was touched
//   INVALID_ARGUMENT    content that a checkpoint cannot hold
//   ALREADY_EXISTS      something that is no checkpoint has its name
//   INTERNAL            the saver broke its contract: no file, an open file, a directory or a link, a changed variable
//   DATA_LOSS           reading back gave something else
//   others              errors of the file system or the saver
std::string write_checkpoint(OpenDirectory& run, const CheckpointContent& content, const SaverUse& saver, Logger& log,
                             const CheckpointSettings& settings = {}, const HowToWrite& how = {});

}  // namespace belay::runtime
