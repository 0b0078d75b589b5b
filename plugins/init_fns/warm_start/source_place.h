// SPDX-License-Identifier: Apache-2.0
// Whether there is something to start from, before the run: by names alone, nothing is opened.
#pragma once

#include <string>

namespace warm_start {

// NOT_FOUND, with the nearest name beside it, where `path` is neither a file nor a TensorFlow checkpoint (`path`.index)
// nor a folder with a checkpoint; INVALID_ARGUMENT where it is empty. Whether it can be read shows when it is.
void need_source(const std::string& path);

}  // namespace warm_start
