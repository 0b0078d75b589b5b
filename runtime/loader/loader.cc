#include "runtime/loader/loader.h"

#include <dlfcn.h>

#define BOOST_DLL_USE_STD_FS
#include <boost/dll/shared_library.hpp>
#include <filesystem>
#include <system_error>
#include <utility>

#include "runtime/loader/linker_error.h"
#include "runtime/loader/load_guard.h"
#include "runtime/loader/module_check.h"
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
void look_closer(LibraryFile& file) {
  FileIdentity identity;
  const auto bytes = open_library(file.path, identity);
  const ElfFile elf(*bytes, file.path);
  if (identity != file.identity || !elf.exports(BELAY_MODULE_SYMBOL))
    throw LoadError(LoadErrorKind::kBadModule, file.path,
                    std::string("has a plugin's note, but does not export ") + BELAY_MODULE_SYMBOL,
                    "build it with belay_add_plugin; does a version script or -fvisibility hide the symbol?");
  for (const std::string& flaw : link_flaws(elf))
    file.warnings.push_back("plugin '" + escaped(file.path) + "' " + flaw);
}

}  // namespace

Loader::Loader(FilePolicy& policy, const CpuFeatures& cpu, std::string library_path)
    : policy_(policy), cpu_(cpu), library_path_(std::move(library_path)) {}
Loader::~Loader() = default;

const LoadedLibrary& Loader::load(const std::string& path) {
  LibraryFile file = vet_library(path, policy_, cpu_);
  const auto known = libraries_.find(file.identity);
  if (known != libraries_.end()) return *known->second;
  for (const auto& [identity, library] : libraries_)
    if (library->path == path)
      throw LoadError(LoadErrorKind::kStale, path, "was replaced after it was loaded", "start the program again");
  auto library = std::make_unique<LoadedLibrary>();
  look_closer(file);
  const belay_module& module = open(file, file.warnings);
  check_module(module, file.module, path);
  library->path = path;
  library->identity = file.identity;
  library->info = std::move(file.module);
  library->module = &module;
  library->warnings = std::move(file.warnings);
  return *(libraries_[library->identity] = std::move(library));
}

const belay_module& Loader::open(const LibraryFile& file, std::vector<std::string>& warnings) {
  // RTLD_NODELETE keeps the library when the handle dies.
  const auto mode = static_cast<boost::dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  ProcessStateGuard state;
  try {
    const LoadingScope scope(file.path);
    const shared_library handle(std::filesystem::path(file.path), mode);
    const auto& module = handle.get<const belay_module>(BELAY_MODULE_SYMBOL);
    for (const std::string& changed : state.restore())
      warnings.push_back("fp_mode: loading plugin '" + escaped(file.path) + "' changed " + changed +
                         " of this thread, which was put back; relink it without -ffast-math");
    return module;
  } catch (const std::system_error& e) {
    state.restore();
    throw explain_linker_error(file.path, dlerror_text(e), library_path_);
  }
}

}  // namespace belay::runtime
