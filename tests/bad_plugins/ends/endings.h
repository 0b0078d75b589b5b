// SPDX-License-Identifier: Apache-2.0
// What ends a process, or takes away what its host needs. Where and how is in the environment, so that a static
// constructor and an operation can do it too: ENDS_IN=hook.after_run ENDS_HOW=exit. Each does it in the third call of
// that callback, or in the one that ENDS_AT says.
#pragma once

#include <string>

// Reads a variable of the environment; empty if it is not set.
std::string variable(const char* name);
// Called in each callback, with its name.
void ends(const std::string& place);
