// SPDX-License-Identifier: Apache-2.0
// Returns the current exception as an Error, for reports, logs and hooks. Call it only inside a catch clause.
#pragma once

#include "belay/error.h"
#include "runtime/platform/process/resources.h"

namespace belay::runtime {

// An Error stays unchanged. RESOURCE_EXHAUSTED, with the limit: there is no memory or thread. Any other exception is
// UNKNOWN.
inline Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    if (const std::string shortage = resource_shortage(e); !shortage.empty())
      return Error(Code::kResourceExhausted, shortage);
    return Error(Code::kUnknown, std::string(detail::text_of(e)));
  } catch (...) {
    return Error(Code::kUnknown, "unknown exception type");
  }
}

}  // namespace belay::runtime
