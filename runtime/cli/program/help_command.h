// SPDX-License-Identifier: Apache-2.0
// `belay help`: the commands; `belay help NAME`: a command's options, a page of docs/reference, or a section of the
// page on commands. The pages are in the program.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace belay::runtime {

// Throws UsageError for a name that is none of help_topics, and for more than one.
int help_command(const std::vector<std::string>& args, std::ostream& out);

// Besides the commands: "manifest", "hooks", "exit-statuses", "signals", ... in the order of the alphabet.
std::vector<std::string> help_topics();

// The build adds each file by its name without ".md".
struct HelpPage {
  std::string name;
  std::string text;
};
const std::vector<HelpPage>& help_pages();

}  // namespace belay::runtime
