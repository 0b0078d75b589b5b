// SPDX-License-Identifier: Apache-2.0
// The table of commands. The file of each name declares it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "runtime/cli/arguments/command.h"

namespace belay::runtime {

Command declare_bisect();
Command declare_check();
Command declare_checkpoint();
Command declare_compare();
Command declare_describe();
Command declare_doctor();
Command declare_explain();
Command declare_evaluate();
Command declare_events();
Command declare_examples();
Command declare_export();
Command declare_graph();
Command declare_look();
Command declare_migrate();
Command declare_new();
Command declare_plugins();
Command declare_predict();
Command declare_reduce();
Command declare_replay();
Command declare_report();
Command declare_run();
Command declare_schema();
Command declare_show();
Command declare_validate();

// Returns them in the order of the help.
const std::vector<Command>& commands();
// Null: there is no such command.
const Command* find_command(std::string_view name);
std::vector<std::string> command_names();
// Returns the hint after an unknown name: a command with a similar spelling, or with that name in other programs.
std::string meant_command(const std::string& name);

// The text of "belay --help", and the first line of "belay --version".
std::string help_text();
std::string version_line();

}  // namespace belay::runtime
