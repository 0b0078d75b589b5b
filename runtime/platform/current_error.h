// SPDX-License-Identifier: Apache-2.0
// The exception that is being handled, as an Error: what reports, logs and hooks take. Only inside a catch clause.
#pragma once

#include "belay/error.h"
#include "runtime/platform/resources.h"

namespace belay::runtime {

// An Error as it is. Want of memory or of threads is RESOURCE_EXHAUSTED with the limit; anything else is UNKNOWN.
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
