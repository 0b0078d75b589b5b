// SPDX-License-Identifier: Apache-2.0
// `belay run`: a whole training run, from the manifest to the last line that says why it ended.
#pragma once

#include "runtime/cli/command_line.h"

namespace belay::runtime {

int run_command(const RunArguments& arguments);
// Everything that `run` would find wrong before it writes anything.
int check_command(const ManifestArguments& arguments);
int show_command(const ShowArguments& arguments);

}  // namespace belay::runtime
