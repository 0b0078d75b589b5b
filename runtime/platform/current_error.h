// SPDX-License-Identifier: Apache-2.0
// The exception that is being handled, as an Error: what reports, logs and hooks take. Only inside a catch clause.
#pragma once

#include "belay/error.h"

namespace belay::runtime {

// An Error as it is; anything else is UNKNOWN.
inline Error current_error() {
  try {
    throw;
  } catch (const Error& e) {
    return e;
  } catch (const std::exception& e) {
    return Error(Code::kUnknown, std::string(detail::text_of(e)));
  } catch (...) {
    return Error(Code::kUnknown, "unknown exception type");
  }
}

}  // namespace belay::runtime
