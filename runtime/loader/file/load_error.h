// SPDX-License-Identifier: Apache-2.0
// The reason why a plugin file was refused, or a plugin was not found. The kinds are stable. Tests, `belay plugins
// --json` and tools use their names (kind_name below), people the message and the fix. The command line ends with
// status 3 for any of them.
#pragma once

#include <string>

#include "belay/error.h"
#include "runtime/manifest/manifest.h"
#include "runtime/platform/text/coded_message.h"

namespace belay::runtime {

enum class LoadErrorKind {
  kNotFound,       // no such file, or no plugin of this name
  kUnreadable,     // exists, but cannot be opened or read
  kNotRegular,     // a directory, FIFO, socket or device
  kInsecure,       // others may replace it
  kNotElf,         // no ELF file
  kArchive,        // a static library
  kObject,         // an object file
  kExecutable,     // a program
  kWrongMachine,   // for another processor, word size or system
  kTruncated,      // cut off: loading it would end in SIGBUS
  kCorrupt,        // an ELF file with contradictions
  kNoNote,         // a shared library, but no plugin; or its note cannot be read
  kAbiMajor,       // built for another ABI major
  kAbiMinor,       // built for an ABI minor that this host lacks
  kIsa,            // needs instructions beyond those of this processor
  kMissingDep,     // a needed library does not exist
  kSymbolVersion,  // a needed library is too old
  kUndefined,      // a symbol that no library defines
  kStaticTls,      // no room for its initial-exec thread-local storage
  kLoadFailed,     // the dynamic linker refused it for another reason
  kBadModule,      // its exported tables break a rule of abi.h
  kStale,          // its note and its tables disagree
  kUnusable,       // a plugin of a kind, or with an option, that only later hosts know
  kDuplicate,      // two files or entries offer the same plugin
};

// Returns "train.toml:14:8: ". For a place without a line it is the file, for no place an empty text.
std::string at_text(const Location& at);

// Returns "not_found", "insecure" ...
const char* kind_name(LoadErrorKind kind) noexcept;

// what() is "[<code>] <kind>: '<path>' <reason>" and, on a second line, "  help: <help>". The code (B2001 ...) is that
// of the kind, unless the reason begins with another.
class LoadError : public Error {
 public:
  // `path` is empty if the error is about no file. Text from a file is escaped here. `reason` may begin with a code
  // of platform/text/coded_message.h.
  LoadError(LoadErrorKind kind, std::string path, std::string reason, std::string help);

  // Returns the same error with its place in a manifest before what().
  LoadError at(const Location& place) const;

  LoadErrorKind kind() const noexcept { return kind_; }
  const std::string& path() const noexcept { return path_; }
  const std::string& code_text() const noexcept { return code_text_; }  // "B2005"
  const std::string& reason() const noexcept { return reason_; }        // "is a FIFO, not a shared library"
  const std::string& help() const noexcept { return help_; }
  // Returns the first line of what(), with the code and without the place.
  std::string headline() const;
  // Returns the place in a manifest; without a line: none.
  const Location& place() const noexcept { return place_; }

 private:
  LoadError(LoadErrorKind kind, std::string path, CodedMessage reason, std::string help);
  LoadError(const LoadError& error, const Location& place);

  LoadErrorKind kind_;
  std::string path_, code_text_, reason_, help_;
  Location place_ = {};
};

}  // namespace belay::runtime
