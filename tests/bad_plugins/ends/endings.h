// SPDX-License-Identifier: Apache-2.0
// Ends a process, or removes something that its host needs. The environment has the place and the way, so that a static
// constructor and an operation can do it too: ENDS_IN=hook.after_run ENDS_HOW=exit. Each does it in the third call of
// that callback, or in the one of ENDS_AT.
#pragma once

#include <string>

// Reads a variable of the environment; empty if it is not set.
std::string variable(const char* name);
// Called in each callback, with its name.
void ends(const std::string& place);
