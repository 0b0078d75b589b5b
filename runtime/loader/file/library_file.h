// SPDX-License-Identifier: Apache-2.0
// A plugin file, checked as far as possible without running its code. It can be opened, and is a regular file that only
// trusted users can write. It is a whole ELF library for this machine. It has a note of this host's ABI that this
// processor can serve. The checks run in this order. The first one that fails is a LoadError, each with its kind.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loader/file/byte_source.h"
#include "runtime/loader/file/cpu_features.h"
#include "runtime/loader/file/elf_file.h"
#include "runtime/loader/file/file_policy.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/loader/note/note.h"

namespace belay::runtime {

// The file of a path, for any of its names.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;  // NOLINT(modernize-use-nullptr)
};

// The state of a file when it was read. Another file, or the same one after a write, has another stamp.
struct FileStamp {
  FileIdentity identity;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Returns the stamp of a path's file now; none: there is no file.
std::optional<FileStamp> stamp_of(const std::string& path);

struct LibraryFile {
  std::string path;
  FileStamp stamp;  // of the read file
  ModuleInfo module;
  std::vector<std::string> warnings;
};

struct OpenLibrary {
  FileStamp stamp;
  std::unique_ptr<FileBytes> bytes;
};

// Opens a regular file for reading, without waiting for a FIFO or device: not_found, unreadable, not_regular.
OpenLibrary open_library(const std::string& path);

// Returns faults of a library's linking that are no reason to refuse it: "asks for an executable stack, ...".
std::vector<std::string> link_flaws(const ElfFile& elf);

// Returns faults of a plugin's exports besides its module: unique symbols, which other plugins share, and symbols that
// the host's libraries may replace. It ignores templates of the C++ standard library.
std::vector<std::string> export_flaws(const ElfFile& elf);

// Returns the error UNUSABLE, with the reason why a plugin of the library cannot be used.
LoadError unusable_error(const std::string& path, const UnusablePlugin& plugin);

// A file whose note was read but not parsed yet: all checks but the last.
struct UnreadLibrary {
  std::string path;
  FileStamp stamp;
  std::string note;
  std::vector<std::string> warnings;
};
UnreadLibrary read_library(const std::string& path, FilePolicy& policy);
// Does the last check.
LibraryFile vet_note(const UnreadLibrary& library, const CpuFeatures& cpu);

// `path` is absolute.
LibraryFile vet_library(const std::string& path, FilePolicy& policy, const CpuFeatures& cpu);
// Does the same for a file opened as `path`.
LibraryFile vet_library(const OpenLibrary& opened, const std::string& path, FilePolicy& policy, const CpuFeatures& cpu);

}  // namespace belay::runtime
