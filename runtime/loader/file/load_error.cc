// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/load_error.h"

#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

Code code_of(LoadErrorKind kind) {
  switch (kind) {
    case LoadErrorKind::kNotFound: return Code::kNotFound;
    case LoadErrorKind::kUnreadable:
    case LoadErrorKind::kInsecure: return Code::kPermissionDenied;
    case LoadErrorKind::kDuplicate: return Code::kAlreadyExists;
    default: return Code::kFailedPrecondition;
  }
}

std::string headline_of(LoadErrorKind kind, const std::string& path, const std::string& reason) {
  return std::string(kind_name(kind)) + ": " + (path.empty() ? "" : "'" + escaped(path) + "' ") + escaped(reason);
}

}  // namespace

std::string at_text(const Location& at) {
  if (at.line == 0) return at.file.empty() ? "" : escaped(at.file) + ": ";
  return escaped(at.file) + ":" + std::to_string(at.line) + ":" + std::to_string(at.column) + ": ";
}

const char* kind_name(LoadErrorKind kind) noexcept {
  switch (kind) {
    case LoadErrorKind::kNotFound: return "not_found";
    case LoadErrorKind::kUnreadable: return "unreadable";
    case LoadErrorKind::kNotRegular: return "not_regular";
    case LoadErrorKind::kInsecure: return "insecure";
    case LoadErrorKind::kNotElf: return "not_elf";
    case LoadErrorKind::kArchive: return "archive";
    case LoadErrorKind::kObject: return "object";
    case LoadErrorKind::kExecutable: return "executable";
    case LoadErrorKind::kWrongMachine: return "wrong_machine";
    case LoadErrorKind::kTruncated: return "truncated";
    case LoadErrorKind::kCorrupt: return "corrupt";
    case LoadErrorKind::kNoNote: return "no_note";
    case LoadErrorKind::kAbiMajor: return "abi_major";
    case LoadErrorKind::kAbiMinor: return "abi_minor";
    case LoadErrorKind::kIsa: return "isa";
    case LoadErrorKind::kMissingDep: return "missing_dep";
    case LoadErrorKind::kSymbolVersion: return "symbol_version";
    case LoadErrorKind::kUndefined: return "undefined";
    case LoadErrorKind::kStaticTls: return "static_tls";
    case LoadErrorKind::kLoadFailed: return "load_failed";
    case LoadErrorKind::kBadModule: return "bad_module";
    case LoadErrorKind::kStale: return "stale";
    case LoadErrorKind::kUnusable: return "unusable";
    case LoadErrorKind::kDuplicate: return "duplicate";
  }
  return "unknown";
}

LoadError::LoadError(LoadErrorKind kind, std::string path, std::string reason, std::string help)
    : Error(code_of(kind), headline_of(kind, path, reason) + (help.empty() ? "" : "\n  help: " + escaped(help))),
      kind_(kind),
      path_(std::move(path)),
      reason_(std::move(reason)),
      help_(std::move(help)) {}

LoadError::LoadError(const LoadError& error, const Location& place)
    : Error(error.code(), at_text(place) + std::string(error.message())),
      kind_(error.kind_),
      path_(error.path_),
      reason_(error.reason_),
      help_(error.help_),
      place_(place) {}

LoadError LoadError::at(const Location& place) const { return LoadError(*this, place); }

std::string LoadError::headline() const { return headline_of(kind_, path_, reason_); }

}  // namespace belay::runtime
