// SPDX-License-Identifier: Apache-2.0
// Checks before the run that the source exists. It looks only at names and opens nothing.
#pragma once

#include <string>

namespace warm_start {

// NOT_FOUND names the nearest name: `path` is no file, no TensorFlow checkpoint (`path`.index) and no folder with a
// checkpoint. INVALID_ARGUMENT: it is empty. Only reading shows whether it is readable.
void need_source(const std::string& path);

}  // namespace warm_start
