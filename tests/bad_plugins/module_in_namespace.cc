// SPDX-License-Identifier: Apache-2.0
// The module in a namespace, so that C++ mangles its name.
#define NO_MODULE
#include "minimal_hook.h"

namespace mine {
extern __attribute__((visibility("default"))) const belay_module belay_module_v0;
const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC,
                                      sizeof(belay_module),
                                      BELAY_ABI_MAJOR,
                                      BELAY_ABI_MINOR,
                                      0,
                                      0,
                                      note.text,
                                      sizeof(NOTE_TEXT) - 1,
                                      plugins,
                                      1};
}  // namespace mine
