// SPDX-License-Identifier: Apache-2.0
// `belay help` prints the commands. `belay help NAME` prints a command's options, a page of docs/reference, or a
// section of the page on commands. The pages are in the program.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace belay::runtime {

// Throws UsageError for a name that is not in help_topics, and for several names.
int help_command(const std::vector<std::string>& args, std::ostream& out);

// Returns the topics besides the commands: "manifest", "hooks", "exit-statuses", "signals", ... in alphabetical order.
std::vector<std::string> help_topics();

// The build adds each file by its name without ".md".
struct HelpPage {
  std::string name;
  std::string text;
};
const std::vector<HelpPage>& help_pages();

}  // namespace belay::runtime
