// SPDX-License-Identifier: Apache-2.0
// The options of a plugin in its note.
#pragma once

#include "runtime/loader/note/note_field.h"

namespace belay::runtime {

// Reads the list `options` into `plugin`, which has its kind and name. Throws UnknownHere or NoteError.
void read_note_options(const NoteField& options, PluginInfo& plugin);

}  // namespace belay::runtime
