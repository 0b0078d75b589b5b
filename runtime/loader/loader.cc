#include "runtime/loader/loader.h"

#include <dlfcn.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/loader/dependencies.h"
#include "runtime/loader/linker_error.h"
#include "runtime/loader/load_guard.h"
#include "runtime/loader/module_check.h"
#include "runtime/loader/openmp_runtimes.h"
#include "runtime/platform/text.h"

namespace belay::runtime {
namespace {

using boost::dll::shared_library;

// Boost's message is "boost::dll::shared_library::load() failed (dlerror system message: <text>): Bad file descriptor",
// where only <text> is about the file.
std::string dlerror_text(const std::system_error& e) {
  const std::string what = e.what(), before = "(dlerror system message: ";
  const std::size_t begin = what.find(before), end = what.rfind("): ");
  if (begin == std::string::npos || end == std::string::npos || end < begin) return what;
  return what.substr(begin + before.size(), end - begin - before.size());
}

// What is worth knowing before the library's initializers run, but not when a thousand files are listed.
void look_closer(const ByteSource& bytes, LibraryFile& file, const std::string& library_path) {
  const ElfFile elf(bytes, file.path);
  if (!elf.exports(BELAY_MODULE_SYMBOL))
    throw LoadError(LoadErrorKind::kBadModule, file.path,
                    std::string("has a plugin's note, but does not export ") + BELAY_MODULE_SYMBOL,
                    "build it with belay_add_plugin; does a version script or -fvisibility hide the symbol?");
  for (const std::string& flaw : link_flaws(elf))
    file.warnings.push_back("plugin '" + escaped(file.path) + "' " + flaw);
  for (const ShadowedDependency& d : shadowed_dependencies(file.path, library_path))
    file.warnings.push_back("same_soname: plugin '" + escaped(file.path) + "' gets " + escaped(d.name) + " from '" +
                            escaped(d.loaded) + "', which was loaded before, and not from '" + escaped(d.own) +
                            "'; link it with the other one, or give its own another SONAME");
}

std::string put_back_text(const std::string& path, const std::string& changed) {
  const std::string what = "loading plugin '" + escaped(path) + "' changed " + changed;
  if (changed == ProcessStateGuard::kLocale)
    return "locale: " + what + ", which was put back; initializers of global objects must not set it";
  return "fp_mode: " + what + " of this thread, which was put back; relink it without -ffast-math";
}

// A plugin that brings a second OpenMP runtime works, but slowly.
void warn_of_openmp(const std::string& path, const std::vector<std::string>& before,
                    std::vector<std::string>& warnings) {
  const std::vector<std::string> now = loaded_openmp_runtimes();
  if (now.size() < 2 || now == before) return;
  warnings.push_back("two_openmp: with plugin '" + escaped(path) + "' this process has " + std::to_string(now.size()) +
                     " OpenMP runtimes, each with threads of its own: " + escaped(joined(now)) +
                     "; build all with one compiler's -fopenmp");
}

}  // namespace

Loader::Loader(FilePolicy& policy, const CpuFeatures& cpu, std::string library_path, std::chrono::milliseconds patience)
    : policy_(policy), cpu_(cpu), library_path_(std::move(library_path)), watch_(patience) {}
Loader::~Loader() = default;

const LoadedLibrary& Loader::load(const std::string& path) {
  const OpenLibrary opened = open_library(path);
  if (const LoadedLibrary* known = find_loaded(path, opened.identity)) return *known;
  LibraryFile file = vet_library(opened, path, policy_, cpu_);
  look_closer(*opened.bytes, file, library_path_);
  auto library = std::make_unique<LoadedLibrary>();
  const std::vector<std::string> openmp_before = loaded_openmp_runtimes();
  const belay_module& module = open(file, file.warnings);
  check_module(module, file.module, path);
  warn_of_openmp(path, openmp_before, file.warnings);
  library->path = path;
  library->identity = file.identity;
  library->info = std::move(file.module);
  library->module = &module;
  library->warnings = std::move(file.warnings);
  warnings_.insert(warnings_.end(), library->warnings.begin(), library->warnings.end());
  return *(libraries_[library->identity] = std::move(library));
}

const LoadedLibrary* Loader::find_loaded(const std::string& path, const FileIdentity& identity) const {
  if (const auto known = libraries_.find(identity); known != libraries_.end()) return known->second.get();
  for (const auto& [other, library] : libraries_)
    if (library->path == path)
      throw LoadError(LoadErrorKind::kStale, path, "was replaced after it was loaded", "start the program again");
  return nullptr;
}

const belay_module& Loader::open(const LibraryFile& file, std::vector<std::string>& warnings) {
  // RTLD_NODELETE keeps the library when the handle dies.
  const auto mode = static_cast<boost::dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ProcessStateGuard state;
  try {
    const LoadingScope scope(file.path, watch_);
    const shared_library handle(std::filesystem::path(file.path), mode);
    const auto& module = handle.get<const belay_module>(BELAY_MODULE_SYMBOL);
    for (const std::string& changed : state.restore()) warnings.push_back(put_back_text(file.path, changed));
    return module;
  } catch (const std::system_error& e) {
    state.restore();
    throw explain_linker_error(file.path, dlerror_text(e), library_path_);
  }
}

}  // namespace belay::runtime
