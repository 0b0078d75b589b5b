// SPDX-License-Identifier: Apache-2.0
// Calls an instance's extension "belay.interrupt.1", as the host does when a run stops.
#pragma once

#include <string>
#include <string_view>

#include "belay/detail/tables.h"
#include "belay/error.h"

namespace belay {
inline namespace v0 {
namespace testing {

// Returns false if the instance has none. `api` is the adopted table of its kind.
template <class Api>
bool call_interrupt(const Api& api, void* self) {
  constexpr std::string_view kName = BELAY_INTERRUPT_EXTENSION;
  const void* given = api.extension(self, belay::detail::str(kName));
  if (api.extension(self, belay::detail::str(kName)) != given)
    fail(Code::kFailedPrecondition, "extension(\"" + std::string(kName) + "\") answers differently each time");
  if (api.extension(self, belay::detail::str("belay.none.1")) == given && given != nullptr)
    fail(Code::kFailedPrecondition, "extension answers to a name that there is not");
  if (given == nullptr) return false;
  belay::detail::adopt(static_cast<const belay_interrupt_api*>(given)).interrupt(self);
  return true;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
