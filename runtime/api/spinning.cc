// SPDX-License-Identifier: Apache-2.0
#include "belay/runtime/spinning.h"

#include "runtime/platform/threads/spinning.h"

namespace belay {

void bound_spinning(char** argv) { runtime::bound_spinning(argv); }

}  // namespace belay
