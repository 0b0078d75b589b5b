// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/load_error.h"

#include <fmt/core.h>

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

// Returns the kind's code of docs/reference/codes.md.
const char* problem_code(LoadErrorKind kind) {
  switch (kind) {
    case LoadErrorKind::kNotFound: return "B2001";
    case LoadErrorKind::kUnreadable: return "B2002";
    case LoadErrorKind::kNotRegular: return "B2003";
    case LoadErrorKind::kInsecure: return "B2004";
    case LoadErrorKind::kNotElf: return "B2005";
    case LoadErrorKind::kArchive: return "B2006";
    case LoadErrorKind::kObject: return "B2007";
    case LoadErrorKind::kExecutable: return "B2008";
    case LoadErrorKind::kWrongMachine: return "B2009";
    case LoadErrorKind::kTruncated: return "B2010";
    case LoadErrorKind::kCorrupt: return "B2011";
    case LoadErrorKind::kNoNote: return "B2012";
    case LoadErrorKind::kAbiMajor: return "B2013";
    case LoadErrorKind::kAbiMinor: return "B2014";
    case LoadErrorKind::kIsa: return "B2015";
    case LoadErrorKind::kMissingDep: return "B2016";
    case LoadErrorKind::kSymbolVersion: return "B2017";
    case LoadErrorKind::kUndefined: return "B2018";
    case LoadErrorKind::kStaticTls: return "B2019";
    case LoadErrorKind::kLoadFailed: return "B2020";
    case LoadErrorKind::kBadModule: return "B2021";
    case LoadErrorKind::kStale: return "B2022";
    case LoadErrorKind::kUnusable: return "B2023";
    case LoadErrorKind::kDuplicate: return "B2024";
  }
  return "B2020";
}

CodedMessage with_code(LoadErrorKind kind, std::string_view reason) {
  CodedMessage coded = take_code(reason);
  if (coded.code.empty()) coded.code = problem_code(kind);
  return coded;
}

std::string headline_of(LoadErrorKind kind, const std::string& path, const CodedMessage& reason) {
  const std::string file = path.empty() ? "" : "'" + escaped(path) + "' ";
  return fmt::format("[{}] {}: {}{}", reason.code, kind_name(kind), file, escaped(reason.text));
}

}  // namespace

std::string at_text(const Location& at) {
  if (at.line == 0) return at.file.empty() ? "" : escaped(at.file) + ": ";
  return fmt::format("{}:{}:{}: ", escaped(at.file), at.line, at.column);
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
    : LoadError(kind, std::move(path), with_code(kind, reason), std::move(help)) {}

LoadError::LoadError(LoadErrorKind kind, std::string path, CodedMessage reason, std::string help)
    : Error(code_of(kind), headline_of(kind, path, reason) + (help.empty() ? "" : "\n  help: " + escaped(help))),
      kind_(kind),
      path_(std::move(path)),
      code_text_(std::move(reason.code)),
      reason_(std::move(reason.text)),
      help_(std::move(help)) {}

LoadError::LoadError(const LoadError& error, const Location& place)
    : Error(error.code(), at_text(place) + std::string(error.message())),
      kind_(error.kind_),
      path_(error.path_),
      code_text_(error.code_text_),
      reason_(error.reason_),
      help_(error.help_),
      place_(place) {}

LoadError LoadError::at(const Location& place) const { return LoadError(*this, place); }

std::string LoadError::headline() const { return headline_of(kind_, path_, {code_text_, reason_}); }

}  // namespace belay::runtime
