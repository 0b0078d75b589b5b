// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/current_plugin.h"

namespace belay::runtime {
namespace {

CurrentPlugin* (*find_current)() noexcept = nullptr;

}  // namespace

CurrentPlugin* current_plugin() noexcept { return find_current == nullptr ? nullptr : find_current(); }
void set_current_plugin(CurrentPlugin* (*find)() noexcept) noexcept { find_current = find; }

}  // namespace belay::runtime
