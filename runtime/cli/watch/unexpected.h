// SPDX-License-Identifier: Apache-2.0
// The text for an exception that no part of the program expects.
#pragma once

#include <exception>
#include <string>

namespace belay::runtime {

// Returns what the machine lacks (memory, threads, the current directory), and the remedy. Otherwise the exception is a
// bug of belay.
std::string unexpected_text(const std::exception& e);

}  // namespace belay::runtime
