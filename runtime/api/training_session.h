// SPDX-License-Identifier: Apache-2.0
// The options of programs as the sessions take them.
#pragma once

#include <string>

#include "belay/runtime/training_session.h"
#include "runtime/monitored/scaffold.h"

namespace belay::runtime {

ScaffoldOptions scaffold_options(const belay::Scaffold& scaffold);
// Empty stays empty.
std::string absolute_path(const std::string& path);

}  // namespace belay::runtime
