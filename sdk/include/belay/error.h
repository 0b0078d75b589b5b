// SPDX-License-Identifier: Apache-2.0
// Errors: one exception type with a code. A plugin's callback throws it (or any std::exception), and the host gets the
// code and the message. A failed call on the host throws it at the caller. The exception itself never crosses the
// boundary; a code and a message of at most 4096 bytes do.
//
//    if (batch_ % 8 != 0)
//      belay::fail(belay::Code::kInvalidArgument, "batch_size = " + std::to_string(batch_) + "; use a multiple of 8");
//
//    try {
//      old_.emplace(host(), options_.path.string());              // a Checkpoint
//    } catch (const belay::Error& e) {
//      if (e.code() != belay::Code::kNotFound) throw;             // other errors pass unchanged
//      host().info("no checkpoint yet: " + std::string(e.message()));
//    }
//
// A good message names the thing, the place and the fix. The host adds the plugin, the callback and the step, so the
// message need not repeat them. Everything here works on any thread.
#pragma once

// Nothing below compiles without C++17 and exceptions. The include names no file, and ends the compiler's errors there.
#define BELAY_NO_SDK "use belay/abi.h"
#if __cplusplus < 201703L
#error "the C++ SDK needs C++17 (-std=c++17); with an older standard use belay/abi.h, which is C and C++"
#include BELAY_NO_SDK
#elif !defined(__cpp_exceptions)
#error "the C++ SDK needs exceptions; with -fno-exceptions use belay/abi.h, which is C and C++"
#include BELAY_NO_SDK
#endif
#undef BELAY_NO_SDK

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

// The kind of a failure, as the host acts on it. The numbers up to kUnauthenticated are gRPC's and TensorFlow's. An
// unlisted number is read as kInternal.
//
// The effect of an error in a training step (before_run, after_run, a run of the session; docs/design/lifecycle.md has
// the others):
// * kAborted, kUnavailable: preemption. The session closes and is made again from the newest checkpoint; training
//   continues.
// * kStop: the end of the loop. The session closes without an error. kOutOfRange has this effect only from an input's
//   next; elsewhere it is an error. belay/abi.h has the table.
// * any other code: the session closes, and the error ends the run.
enum class Code : std::int32_t {
  kOk = BELAY_OK,
  // A run or a wait that was cancelled because the session stops or closes.
  kCancelled = BELAY_CANCELLED,
  // An exception without a code, such as std::runtime_error.
  kUnknown = BELAY_UNKNOWN,
  // A wrong shape, dtype, name or option, in any state: the caller's mistake.
  kInvalidArgument = BELAY_INVALID_ARGUMENT,
  // A run took longer than its timeout.
  kDeadlineExceeded = BELAY_DEADLINE_EXCEEDED,
  // The name, file or attribute does not exist. The message has the nearest name, if there is one.
  kNotFound = BELAY_NOT_FOUND,
  // The name is taken.
  kAlreadyExists = BELAY_ALREADY_EXISTS,
  // A file or folder that this process may not read or write.
  kPermissionDenied = BELAY_PERMISSION_DENIED,
  // Memory, disk space or a limit. A std::bad_alloc that leaves a callback becomes this.
  kResourceExhausted = BELAY_RESOURCE_EXHAUSTED,
  // The call is right, but the time is wrong: a change of a frozen graph, a read of a variable before its
  // initialization.
  kFailedPrecondition = BELAY_FAILED_PRECONDITION,
  // Something that the run depended on is gone. Another attempt from the last checkpoint may succeed.
  kAborted = BELAY_ABORTED,
  // The end of an input (from its next) or of a queue (from a run). A value out of its range is kInvalidArgument.
  kOutOfRange = BELAY_OUT_OF_RANGE,
  // The other side lacks it: an older host, a dtype without a kernel, a mode that a model does not build.
  kUnimplemented = BELAY_UNIMPLEMENTED,
  // A defect of the host or of a plugin.
  kInternal = BELAY_INTERNAL,
  // Works like kAborted, for a network or a server that may return by itself.
  kUnavailable = BELAY_UNAVAILABLE,
  // Stored data that is wrong: a truncated file, a checksum that differs.
  kDataLoss = BELAY_DATA_LOSS,
  kUnauthenticated = BELAY_UNAUTHENTICATED,
  // The first of three codes that gRPC does not have: Python's StopIteration. From before_run, after_run and an input's
  // next it ends the loop without an error.
  kStop = BELAY_STOP,
  // A NaN, an infinity, or a passed limit: training cannot continue from these values.
  kDiverged = BELAY_DIVERGED,
  // Thrown by Hook::before_save: this checkpoint is not written. Anywhere else it is an ordinary error.
  kSkip = BELAY_SKIP,
};

// The exception of the SDK. Throw it by value, catch it by const reference. It owns its message.
class Error : public std::runtime_error {
 public:
  // kOk is not a code for an error. The host reports an Error with kOk that leaves a callback as kUnknown.
  Error(Code code, const std::string& message) : std::runtime_error(message), code_(code) {}
  Code code() const noexcept { return code_; }
  // The message without the code, valid as long as the Error. It ends at the first NUL of the given string.
  std::string_view message() const noexcept { return what(); }

 private:
  Code code_;
};

// Throws Error(code, message), for checks in one line. It does not return, so no `else` is needed after it.
[[noreturn]] inline void fail(Code code, const std::string& message) { throw Error(code, message); }

// The code's name in gRPC's spelling ("INVALID_ARGUMENT"), or "INTERNAL" for an unknown number. The result is a string
// literal: always valid.
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

// Convert views between the C boundary and C++. Nothing is copied: a view is valid as long as its characters. A
// belay_str of size 0 may have null data, which view() does not read.
inline belay_str str(std::string_view text) noexcept { return {text.data(), text.size()}; }
inline std::string_view view(belay_str text) noexcept {
  return text.size == 0 ? std::string_view{} : std::string_view(text.data, static_cast<std::size_t>(text.size));
}

// Writes the message into the caller's buffer and returns the code. The message is cut at the buffer's capacity in
// bytes, maybe within a UTF-8 character. A null status or buffer: only the code is returned.
inline std::int32_t report(belay_status* status, std::int32_t code, std::string_view text) noexcept {
  if (status != nullptr && status->text != nullptr) {
    const std::size_t n = std::min<std::size_t>(text.size(), static_cast<std::size_t>(status->capacity));
    if (n != 0) std::memcpy(status->text, text.data(), n);
    status->size = n;
  }
  return code;
}

// The caller's side of a call through a slot. It owns the buffer of 4096 bytes, and turns a code into an exception. Use
// one per call, on the stack:
//
//   detail::Status status;
//   status.check(api->find(graph, name, &out, status));
class Status {
 public:
  Status() noexcept : status_{text_, sizeof(text_), 0} {}
  Status(const Status&) = delete;
  Status& operator=(const Status&) = delete;
  operator belay_status*() noexcept { return &status_; }
  // The callee's message, valid as long as this Status. If the callee claims more bytes than the buffer has, or another
  // buffer, nothing of it is read.
  std::string_view message() const noexcept {
    if (status_.text != text_) return "no message (it replaced the status's text, whose memory is the caller's)";
    if (status_.size > sizeof(text_)) return "no message (its message claims more bytes than there is room for)";
    return {text_, static_cast<std::size_t>(status_.size)};
  }
  // Throws Error with the callee's code and message unless the code is BELAY_OK.
  void check(std::int32_t code) const {
    if (code != BELAY_OK) throw Error(static_cast<Code>(code), std::string(message()));
  }

 private:
  belay_status status_;
  char text_[4096];
};

// The message of any exception. what() cannot throw, but another library's class may return null.
inline std::string_view text_of(const std::exception& e) noexcept {
  const char* text = e.what();
  return text == nullptr ? "an exception without a message" : text;
}

// The callee's side: runs f and turns an exception into a code and a message. An Error keeps its code. std::bad_alloc
// becomes RESOURCE_EXHAUSTED, std::invalid_argument INVALID_ARGUMENT, every other one UNKNOWN. Returns BELAY_OK if f
// did not throw. It never throws, so no exception passes through a slot.
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
