// SPDX-License-Identifier: Apache-2.0
// Errors: one exception type with a code. Throw it (or any std::exception) from a plugin's callback and the host sees
// the code and the text; a call on the host that fails throws it at the caller. It never crosses the boundary itself.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>

#include "belay/abi.h"

namespace belay {
inline namespace v0 {

enum class Code : std::int32_t {
  kOk = BELAY_OK,
  kCancelled = BELAY_CANCELLED,
  kUnknown = BELAY_UNKNOWN,
  kInvalidArgument = BELAY_INVALID_ARGUMENT,
  kDeadlineExceeded = BELAY_DEADLINE_EXCEEDED,
  kNotFound = BELAY_NOT_FOUND,
  kAlreadyExists = BELAY_ALREADY_EXISTS,
  kPermissionDenied = BELAY_PERMISSION_DENIED,
  kResourceExhausted = BELAY_RESOURCE_EXHAUSTED,
  kFailedPrecondition = BELAY_FAILED_PRECONDITION,
  kAborted = BELAY_ABORTED,
  kOutOfRange = BELAY_OUT_OF_RANGE,
  kUnimplemented = BELAY_UNIMPLEMENTED,
  kInternal = BELAY_INTERNAL,
  kUnavailable = BELAY_UNAVAILABLE,
  kDataLoss = BELAY_DATA_LOSS,
  kUnauthenticated = BELAY_UNAUTHENTICATED,
  kStop = BELAY_STOP,
  kDiverged = BELAY_DIVERGED,
  kSkip = BELAY_SKIP,
};

class Error : public std::runtime_error {
 public:
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }
  std::string_view message() const noexcept { return what(); }

 private:
  Code code_;
};

[[noreturn]] inline void fail(Code code, const std::string& message) { throw Error(code, message); }

// The code's name as gRPC spells it ("INVALID_ARGUMENT").
inline const char* code_name(Code code) noexcept {
  switch (code) {
    case Code::kOk: return "OK";
    case Code::kCancelled: return "CANCELLED";
    case Code::kUnknown: return "UNKNOWN";
    case Code::kInvalidArgument: return "INVALID_ARGUMENT";
    case Code::kDeadlineExceeded: return "DEADLINE_EXCEEDED";
    case Code::kNotFound: return "NOT_FOUND";
    case Code::kAlreadyExists: return "ALREADY_EXISTS";
    case Code::kPermissionDenied: return "PERMISSION_DENIED";
    case Code::kResourceExhausted: return "RESOURCE_EXHAUSTED";
    case Code::kFailedPrecondition: return "FAILED_PRECONDITION";
    case Code::kAborted: return "ABORTED";
    case Code::kOutOfRange: return "OUT_OF_RANGE";
    case Code::kUnimplemented: return "UNIMPLEMENTED";
    case Code::kInternal: return "INTERNAL";
    case Code::kUnavailable: return "UNAVAILABLE";
    case Code::kDataLoss: return "DATA_LOSS";
    case Code::kUnauthenticated: return "UNAUTHENTICATED";
    case Code::kStop: return "STOP";
    case Code::kDiverged: return "DIVERGED";
    case Code::kSkip: return "SKIP";
  }
  return "INTERNAL";
}

namespace detail {

inline belay_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view view(belay_str text) noexcept {
  return text.size == 0 ? std::string_view{} : std::string_view(text.data, static_cast<std::size_t>(text.size));
}

inline std::int32_t report(belay_status* status, std::int32_t code, std::string_view text) noexcept {
  if (status != nullptr && status->text != nullptr) {
    const std::size_t n = std::min<std::size_t>(text.size(), static_cast<std::size_t>(status->capacity));
    if (n != 0) std::memcpy(status->text, text.data(), n);
    status->size = n;
  }
  return code;
}

// The caller's side of a call through a slot: owns the buffer, turns a code into an exception.
class Status {
 public:
  Status() noexcept : status_{text_, sizeof(text_), 0} {}
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  operator belay_status*() noexcept { return &status_; }
  // Of a callee that claims to have written more than there is room for nobody knows how much it wrote.
  std::string_view message() const noexcept {
    if (status_.size > sizeof(text_)) return "no message (its message claims more bytes than there is room for)";
    return {text_, static_cast<std::size_t>(status_.size)};
  }
  void check(std::int32_t code) const {
    if (code != BELAY_OK) throw Error(static_cast<Code>(code), std::string(message()));
  }

 private:
  belay_status status_;
  char text_[4096];
};

// The text of anybody's exception; what() cannot throw, but it may be null.
inline std::string_view text_of(const std::exception& e) noexcept {
  const char* text = e.what();
  return text == nullptr ? "an exception without a text" : text;
}

// The callee's side: runs f, turns whatever it throws into a code and a text.
template <class F>
std::int32_t guard(belay_status* status, F&& f) noexcept {
  try {
    f();
    return BELAY_OK;
  } catch (const Error& e) {
    const auto code = static_cast<std::int32_t>(e.code());
    return report(status, code == BELAY_OK ? BELAY_UNKNOWN : code, text_of(e));
  } catch (const std::bad_alloc&) {
    return report(status, BELAY_RESOURCE_EXHAUSTED, "out of memory");
  } catch (const std::invalid_argument& e) {
    return report(status, BELAY_INVALID_ARGUMENT, text_of(e));
  } catch (const std::exception& e) {
    return report(status, BELAY_UNKNOWN, text_of(e));
  } catch (...) {
    return report(status, BELAY_UNKNOWN, "unknown exception type");
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
