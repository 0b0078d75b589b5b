// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/library_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "runtime/loader/file/linker_error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

const char* kind_of_file(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a FIFO";
  if (S_ISSOCK(mode)) return "a socket";
  if (S_ISCHR(mode) || S_ISBLK(mode)) return "a device";
  return "no regular file";
}

[[noreturn]] void fail_not_regular(const std::string& path, mode_t mode) {
  throw LoadError(LoadErrorKind::kNotRegular, path, fmt::format("is {}, not a file", kind_of_file(mode)),
                  "give the .so file of a plugin");
}

[[noreturn]] void fail_to_open(const std::string& path, int error) {
  if (error == ENOENT || error == ENOTDIR || error == ELOOP) {
    std::error_code no_link;
    const auto target = std::filesystem::read_symlink(path, no_link);
    std::string reason = error == ENOTDIR ? "does not exist: a part of its path is no directory" : "does not exist";
    if (error == ELOOP) reason = "cannot be opened: too many levels of symbolic links";
    if (error == ENOENT && !no_link) reason = "is a symbolic link to '" + target.string() + "', which does not exist";
    throw LoadError(LoadErrorKind::kNotFound, path, reason,
                    "check the path; in a manifest it is relative to the manifest");
  }
  throw LoadError(LoadErrorKind::kUnreadable, path, fmt::format("cannot be opened: {}", std::strerror(error)),
                  error == EACCES ? "give this user the right to read it (chmod, chown)" : "");
}

FileStamp stamp_from(const struct stat& s) {
  const auto ns = [](const timespec& t) { return std::int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec; };
  return {{s.st_dev, s.st_ino}, static_cast<std::uint64_t>(s.st_size), ns(s.st_mtim), ns(s.st_ctim)};
}

void check_abi(const std::string& path, const ModuleInfo& module) {
  const auto version = [](std::int64_t major, std::int64_t minor) { return fmt::format("{}.{}", major, minor); };
  if (abi_fits(module.abi_major, module.abi_minor)) return;
  const std::string host = version(BELAY_ABI_MAJOR, BELAY_ABI_MINOR), own = version(module.abi_major, module.abi_minor);
  const bool newer =
      module.abi_major > BELAY_ABI_MAJOR || (module.abi_major == BELAY_ABI_MAJOR && module.abi_minor > BELAY_ABI_MINOR);
  const std::string help =
      fmt::format("rebuild it with the SDK of this host{}", newer ? ", or update the host to ABI " + own : "");
  if (module.abi_major != BELAY_ABI_MAJOR)
    throw LoadError(LoadErrorKind::kAbiMajor, path, fmt::format("is built for ABI {}, this host has ABI {}", own, host),
                    help);
  throw LoadError(LoadErrorKind::kAbiMinor, path,
                  fmt::format("needs ABI {}, this host has {}{}", own, host,
                              BELAY_ABI_MAJOR == 0 ? " (before 1.0 they must be equal)" : ""),
                  help);
}

}  // namespace

OpenLibrary open_library(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  const int error = errno;
  struct stat s {};
  if (descriptor < 0) {
    if (::stat(path.c_str(), &s) == 0 && !S_ISREG(s.st_mode)) fail_not_regular(path, s.st_mode);
    fail_to_open(path, error);
  }
  if (::fstat(descriptor, &s) != 0 || !S_ISREG(s.st_mode)) {
    ::close(descriptor);
    fail_not_regular(path, s.st_mode);
  }
  return {stamp_from(s), std::make_unique<FileBytes>(descriptor, static_cast<std::uint64_t>(s.st_size))};
}

std::optional<FileStamp> stamp_of(const std::string& path) {
  struct stat s {};
  if (::stat(path.c_str(), &s) != 0) return std::nullopt;
  return stamp_from(s);
}

std::vector<std::string> link_flaws(const ElfFile& elf) {
  std::vector<std::string> flaws;
  const ElfDynamic dynamic = elf.dynamic();
  if (elf.executable_stack())
    flaws.emplace_back("asks for an executable stack, which every thread gets; relink it with -z noexecstack");
  if (dynamic.text_relocations) flaws.emplace_back("changes its own code when it is loaded; rebuild it with -fPIC");
  if (dynamic.static_tls)
    flaws.emplace_back(
        "takes static thread-local storage, of which a process has little; rebuild it without "
        "-ftls-model=initial-exec");
  return flaws;
}

namespace {

// Returns "7 symbols (a, b, c, d, e, ...)", with the author's before the SDK's.
std::string first_of(std::vector<std::string> names, const std::string& what) {
  constexpr std::size_t kMost = 5;
  const std::size_t n = names.size();
  std::stable_partition(names.begin(), names.end(),
                        [](const std::string& name) { return name.find("5belay2v0") == std::string::npos; });
  if (n > kMost) names.resize(kMost);
  for (std::string& name : names) name = demangled(name);
  return fmt::format("{} {}{}{}{}", n, what, n == 1 ? " (" : "s (", joined(names), n > kMost ? ", ...)" : ")");
}

// True if a mangled name belongs to the C++ standard library. Its templates are visible in every library that uses
// them, with any compiler flags, and are equal in each.
bool is_of_standard_library(std::string_view name) {
  if (name == "_ZnwmPv" || name == "_ZnamPv" || name == "_ZdlPvS_" || name == "_ZdaPvS_") return true;  // placement new
  if (name.substr(0, 2) != "_Z") return false;
  name.remove_prefix(2);
  for (const char* prefix : {"GV", "GR", "TV", "TI", "TS", "TT"})
    if (name.substr(0, 2) == prefix) name.remove_prefix(2);
  name.remove_prefix(std::min(name.find_first_not_of("ZNKVRO"), name.size()));
  if (name.substr(0, 10) == "9__gnu_cxx") return true;
  constexpr std::string_view kAbbreviated = "tabsiod";  // St: std::, Sa: std::allocator, ...
  return name.size() > 1 && name[0] == 'S' && kAbbreviated.find(name[1]) != std::string_view::npos;
}

// The address sanitizer puts these beside each global variable.
bool is_of_sanitizer(std::string_view name) { return name.rfind("__odr_asan.", 0) == 0; }

}  // namespace

std::vector<std::string> export_flaws(const ElfFile& elf) {
  std::vector<std::string> flaws;
  std::vector<std::string> unique, others;
  for (const ElfSymbol& symbol : elf.exports())
    if (symbol.name != BELAY_MODULE_SYMBOL && !is_of_standard_library(symbol.name) && !is_of_sanitizer(symbol.name))
      (symbol.unique ? unique : others).push_back(symbol.name);
  if (!unique.empty())
    flaws.push_back("shares " + first_of(unique, "unique symbol") +
                    " with every library that has the same: of two plugins both use the first one's; compile it with "
                    "-fvisibility=hidden (pkg-config --cflags belay-sdk has it) or build it with belay_add_plugin");
  if (!others.empty())
    flaws.push_back("exports " + first_of(others, "symbol") + " besides " + BELAY_MODULE_SYMBOL +
                    ", in whose place it may get the host's; link it with belay_add_plugin or a version script");
  return flaws;
}

LoadError unusable_error(const std::string& path, const UnusablePlugin& plugin) {
  return {LoadErrorKind::kUnusable, path,
          "offers the " + plugin.kind + " \"" + plugin.name + "\", which this host cannot use: " + plugin.reason,
          "it was built for a later Belay; its other plugins can be used"};
}

namespace {

UnreadLibrary read_library(const OpenLibrary& opened, const std::string& path, FilePolicy& policy) {
  UnreadLibrary library{path, opened.stamp, "", {}};
  policy.check_library(path, library.warnings);
  const ElfFile elf(*opened.bytes, path);
  auto note = elf.note("BELAY", BELAY_NOTE_TYPE);
  if (!note)
    throw LoadError(LoadErrorKind::kNoNote, path, "is a shared library, but no plugin: it has no BELAY note",
                    "does its source have a BELAY_MODULE line? were notes removed with objcopy?");
  library.note = std::move(*note);
  return library;
}

}  // namespace

UnreadLibrary read_library(const std::string& path, FilePolicy& policy) {
  return read_library(open_library(path), path, policy);
}

LibraryFile vet_note(const UnreadLibrary& unread, const CpuFeatures& cpu) {
  const std::string& path = unread.path;
  LibraryFile library{path, unread.stamp, {}, unread.warnings};
  try {
    library.module = parse_note(unread.note);
  } catch (const NoteError& e) {
    throw LoadError(LoadErrorKind::kNoNote, path, fmt::format("has a corrupt note: {}", e.what()), "build it again");
  }
  check_abi(path, library.module);
  const auto missing = cpu.missing(library.module.isa);
  if (!missing.empty())
    throw LoadError(LoadErrorKind::kIsa, path,
                    "is compiled for instructions that this processor lacks: " + joined(missing),
                    "rebuild it without -march=native, or with -march=x86-64-v2");
  return library;
}

LibraryFile vet_library(const std::string& path, FilePolicy& policy, const CpuFeatures& cpu) {
  return vet_library(open_library(path), path, policy, cpu);
}

LibraryFile vet_library(const OpenLibrary& opened, const std::string& path, FilePolicy& policy,
                        const CpuFeatures& cpu) {
  return vet_note(read_library(opened, path, policy), cpu);
}

}  // namespace belay::runtime
