// SPDX-License-Identifier: Apache-2.0
// The plugin that this thread is calling, for parts of the runtime that know no plugins: services that are called by
// one. The loader says which it is.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "belay/abi.h"

namespace belay::runtime {

class CurrentPlugin {
 public:
  virtual ~CurrentPlugin() = default;
  // `hook "x" (x.so 1.2, train.toml:14)`
  virtual const std::string& label() const noexcept = 0;
  // Calls a `join` of the plugin's as its callbacks are called: watched, and what escapes from it, or a code that there
  // is not, is an Error that names both. Returns BELAY_OK or BELAY_DEADLINE_EXCEEDED.
  virtual std::int32_t call_join(const std::function<std::int32_t(belay_status*)>& join) = 0;
};

// Null: this thread is calling no plugin. What it returns is valid while the plugin's session is.
CurrentPlugin* current_plugin() noexcept;
void set_current_plugin(CurrentPlugin* (*find)() noexcept) noexcept;

}  // namespace belay::runtime
