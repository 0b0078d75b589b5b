// SPDX-License-Identifier: Apache-2.0
// A plugin file, vetted as far as that goes without running any of its code: it can be opened, is a regular file that
// only trusted users can write, a whole ELF library for this machine, and carries a note of this host's ABI that this
// processor can serve. The steps run in that order; the first that fails is a LoadError, one kind each.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/loader/byte_source.h"
#include "runtime/loader/cpu_features.h"
#include "runtime/loader/elf_file.h"
#include "runtime/loader/file_policy.h"
#include "runtime/loader/load_error.h"
#include "runtime/loader/note.h"

namespace belay::runtime {

// Which file a path leads to, whatever the path is called.
struct FileIdentity {
  std::uint64_t device = 0, inode = 0;
  friend bool operator==(const FileIdentity&, const FileIdentity&) = default;
  friend auto operator<=>(const FileIdentity&, const FileIdentity&) = default;  // NOLINT(modernize-use-nullptr)
};

// What a file was when it was looked at: another file, or the same one written to since, has another.
struct FileStamp {
  FileIdentity identity;
  std::uint64_t size = 0;
  std::int64_t modified_ns = 0, changed_ns = 0;
  friend bool operator==(const FileStamp&, const FileStamp&) = default;
};
// Of the file that a path leads to now; nothing where it leads to none.
std::optional<FileStamp> stamp_of(const std::string& path);

struct LibraryFile {
  std::string path;
  FileStamp stamp;  // of the file that was read
  ModuleInfo module;
  std::vector<std::string> warnings;
};

struct OpenLibrary {
  FileStamp stamp;
  std::unique_ptr<FileBytes> bytes;
};

// Opens a regular file for reading, never blocking on a FIFO or device: not_found, unreadable, not_regular.
OpenLibrary open_library(const std::string& path);

// What is wrong with how a library was linked, without being a reason to refuse it: "asks for an executable stack,
// ...".
std::vector<std::string> link_flaws(const ElfFile& elf);

// The same of what a plugin exports besides its module: unique symbols, which it shares with other plugins, and what
// the host's libraries may replace. What shows through of the C++ standard library's templates is left out.
std::vector<std::string> export_flaws(const ElfFile& elf);

// Why a plugin of the library cannot be used: UNUSABLE.
LoadError unusable_error(const std::string& path, const UnusablePlugin& plugin);

// A file whose note was read and not looked into yet: all but the last step.
struct UnreadLibrary {
  std::string path;
  FileStamp stamp;
  std::string note;
  std::vector<std::string> warnings;
};
UnreadLibrary read_library(const std::string& path, FilePolicy& policy);
// The last step.
LibraryFile vet_note(const UnreadLibrary& library, const CpuFeatures& cpu);

// `path` is absolute.
LibraryFile vet_library(const std::string& path, FilePolicy& policy, const CpuFeatures& cpu);
// The same of a file that was opened as `path`.
LibraryFile vet_library(const OpenLibrary& opened, const std::string& path, FilePolicy& policy, const CpuFeatures& cpu);

}  // namespace belay::runtime
