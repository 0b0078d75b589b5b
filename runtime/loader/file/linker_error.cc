// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/file/linker_error.h"

#include <cxxabi.h>
#include <sys/statvfs.h>

#include <cstdlib>
#include <optional>

#include "runtime/loader/file/dependencies.h"
#include "runtime/platform/process/resources.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

// Returns "a.so (wanted by b.so, wanted by c.so)".
std::string wanted_by(const std::vector<std::string>& chain) {
  std::string text;
  for (const std::string& file : chain) text += (text.empty() ? "wanted by " : ", wanted by ") + file;
  return text;
}

std::optional<LoadError> missing_dependency(const std::string& path, const std::string& library_path) {
  std::vector<std::string> problems, searched;
  bool musl = false, mpi = false;
  for (const Dependency& d : walk_dependencies(path, library_path)) {
    if (d.path.empty()) {
      problems.push_back(d.name + " (" + wanted_by(d.wanted_by) + ")");
      if (searched.empty()) searched = d.searched;
      musl = musl || d.name.find("musl") != std::string::npos;
      mpi = mpi || d.name.rfind("libmpi", 0) == 0;
    } else if (!d.problem.empty()) {
      problems.push_back(d.name + " (" + wanted_by(d.wanted_by) + "; '" + d.path + "' " + d.problem + ")");
    }
  }
  if (problems.empty()) return std::nullopt;
  std::string help = "install it, set LD_LIBRARY_PATH, or link the plugin with -Wl,-rpath,DIRECTORY";
  if (problems.size() > 1) help = "install them, set LD_LIBRARY_PATH, or link the plugin with -Wl,-rpath,DIRECTORY";
  if (mpi)
    help =
        "load the module of that MPI, or name the plugin of the one that is here: mpi_openmpi is for libmpi.so.40, "
        "mpi_mpich_abi for libmpi.so.12, mpi_mpich for libmpich.so.12";
  if (musl) help = "it is built for another C library (musl); rebuild it for glibc";
  if (!searched.empty()) help += "; searched: " + joined(searched);
  return LoadError(LoadErrorKind::kMissingDep, path, "needs what cannot be loaded: " + joined(problems), help);
}

std::optional<LoadError> missing_symbol_version(const std::string& path, const std::string& library_path) {
  std::vector<std::string> problems;
  bool cxx = false;
  for (const MissingVersion& m : missing_versions(path, library_path)) {
    problems.push_back(m.version + " of " + m.library + (m.newest.empty() ? "" : ", which offers up to " + m.newest) +
                       (m.wanted_by == path ? "" : " (wanted by " + m.wanted_by + ")"));
    cxx = cxx || m.library.rfind("libstdc++", 0) == 0;
  }
  if (problems.empty()) return std::nullopt;
  return LoadError(LoadErrorKind::kSymbolVersion, path, "needs a newer system: " + joined(problems, "; "),
                   cxx ? "build it on this system or an older one, or link libstdc++ statically (-static-libstdc++)"
                       : "build it on this system or an older one");
}

// Describes libraries of the plugin that another one with the same SONAME replaces; empty: there are none.
std::string shadowed_text(const std::string& path, const std::string& library_path) {
  std::string text;
  for (const ShadowedDependency& d : shadowed_dependencies(path, library_path))
    text += "; it gets " + d.name + " from '" + d.loaded + "', which was loaded before, and not from '" + d.own + "'";
  return text;
}

LoadError undefined_symbol(const std::string& path, const std::string& text, const std::string& library_path) {
  const std::string marker = "undefined symbol: ";
  const std::size_t at = text.find(marker);
  const std::string rest = text.substr(at + marker.size());
  const std::string symbol = rest.substr(0, rest.find_first_of(", \t"));
  const std::string where = text.substr(0, text.find(": "));
  const std::string reason = "uses the symbol `" + demangled(symbol) + "`, which nothing defines" +
                             (where == path || where.empty() ? "" : " (used in " + where + ")");
  if (const std::string shadowed = shadowed_text(path, library_path); !shadowed.empty())
    return LoadError(LoadErrorKind::kMissingDep, path, reason + shadowed,
                     "link it with the other library, or give its own another SONAME");
  return LoadError(
      LoadErrorKind::kUndefined, path, reason,
      "link the library that has it; build with -Wl,-z,defs (belay_add_plugin does) to see this when linking");
}

bool is_noexec(const std::string& path) {
  struct statvfs s {};
  return ::statvfs(path.c_str(), &s) == 0 && (s.f_flag & ST_NOEXEC) != 0;
}

}  // namespace

std::string demangled(const std::string& symbol) {
  int status = 0;
  char* name = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
  std::string text = name == nullptr ? symbol : name;
  std::free(name);
  return text;
}

LoadError explain_linker_error(const std::string& path, const std::string& text, const std::string& library_path) {
  if (has(text, "undefined symbol: ")) return undefined_symbol(path, text, library_path);
  if (has(text, "static TLS block"))
    return LoadError(LoadErrorKind::kStaticTls, path, "finds no room for its initial-exec thread-local storage",
                     "build it without -ftls-model=initial-exec, or set "
                     "GLIBC_TUNABLES=glibc.rtld.optional_static_tls=16384");
  if (has(text, "cannot open shared object file") || has(text, "file too short") || has(text, "invalid ELF header"))
    if (auto error = missing_dependency(path, library_path)) return *error;
  if (has(text, ": version `"))
    if (auto error = missing_symbol_version(path, library_path)) return *error;
  if (has(text, "failed to map segment") && is_noexec(path))
    return LoadError(LoadErrorKind::kLoadFailed, path, "lies on a file system that is mounted noexec",
                     "put it elsewhere, or mount that file system with exec");
  // These are glibc's words for missing memory.
  const bool wants_memory = has(text, "failed to map segment") || has(text, "zero-fill pages") ||
                            has(text, "annot allocate memory") || has(text, "annot create shared object descriptor");
  const std::string limit = wants_memory ? memory_limit_of_process() : "";
  return LoadError(LoadErrorKind::kLoadFailed, path,
                   "is refused by the dynamic linker: " + text + (limit.empty() ? "" : "; " + limit), "");
}

}  // namespace belay::runtime
