// SPDX-License-Identifier: Apache-2.0
// What an input says of places in its files, shown as problems of a manifest are: with the line and a caret. The
// input's message names a place by the path as its option has it, the line and the column in characters, both from 1;
// of several such places each is on a line of its own:
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

// Adds what the message says of places in files that a path option of one of `inputs` names. False: it names none. The
// line is read from the file; it is not shown if that is compressed or has no such line any more.
bool add_data_problems(const std::map<std::string, ResolvedPlugin>& inputs, const Error& error, Diagnostics& problems);

}  // namespace belay::runtime
