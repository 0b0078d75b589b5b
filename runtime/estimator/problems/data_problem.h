// SPDX-License-Identifier: Apache-2.0
// Shows an input's errors about places in its files like problems of a manifest: with the line and a caret. A place in
// the message begins with the path as its option or its pattern has it. The line and the column (in characters) follow,
// both from 1. If there are several such places, each has a separate line:
//
//   /data/flats.csv:4:1: column "rooms" is empty, not a number; repair the row
//   /data/flats.csv:9:5: column "price" is "a", not a number; repair the row
#pragma once

#include <map>
#include <string>

#include "belay/error.h"
#include "runtime/loader/library/resolve.h"
#include "runtime/manifest/diagnostics.h"

namespace belay::runtime {

// Adds the problems in the message that name a place in a file. A path option of one of `inputs` must name the file.
// Returns false if there is none. The line is read from the file. It is not shown if the file is compressed or no
// longer has such a line.
bool add_data_problems(const std::map<std::string, ResolvedPlugin>& inputs, const Error& error, Diagnostics& problems);

}  // namespace belay::runtime
