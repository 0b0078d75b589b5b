// SPDX-License-Identifier: Apache-2.0
// The plugin that this thread is calling, for parts of the runtime without plugins, such as services. The loader sets
// it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "belay/abi.h"

namespace belay::runtime {

class CurrentPlugin {
 public:
  virtual ~CurrentPlugin() = default;
  // Returns `hook "x" (x.so 1.2, train.toml:14)`.
  virtual const std::string& label() const noexcept = 0;
  // Calls a `join` of the plugin like its callbacks: with supervision. An exception or an unknown code becomes an Error
  // that names both. Returns BELAY_OK or BELAY_DEADLINE_EXCEEDED.
  virtual std::int32_t call_join(const std::function<std::int32_t(belay_status*)>& join) = 0;
};

// Returns null if this thread is calling no plugin. The result is valid as long as the plugin's session.
CurrentPlugin* current_plugin() noexcept;
void set_current_plugin(CurrentPlugin* (*find)() noexcept) noexcept;

}  // namespace belay::runtime
