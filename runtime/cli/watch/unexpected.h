// SPDX-License-Identifier: Apache-2.0
// The text for an exception that passed every place that expects errors.
#pragma once

#include <exception>
#include <string>

namespace belay::runtime {

// Whether the machine ran out of something (memory, threads, the current directory), and what to do; else it is a bug
// of ours.
std::string unexpected_text(const std::exception& e);

}  // namespace belay::runtime
