// SPDX-License-Identifier: Apache-2.0
// Commands of belay in processes of their own, of this program or of another build.
#pragma once

#include <string>
#include <vector>

namespace belay::runtime {

struct ChildCommand {
  std::string program;  // a path, or a name that PATH has
  std::vector<std::string> arguments;
  std::string log;  // the file that gets its standard output and error; is made or replaced
};

// The path of this program; "/proc/self/exe" where another file is there by now.
std::string this_program();

// Starts all of them and waits until the last has ended. Exit statuses, in their order; 128 + the signal of one that
// died of it. NOT_FOUND names a program that cannot be started; the others are waited for all the same.
std::vector<int> run_commands(const std::vector<ChildCommand>& commands);

}  // namespace belay::runtime
