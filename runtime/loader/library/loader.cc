// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/library/loader.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <fmt/core.h>

#define BOOST_DLL_USE_STD_FS
#include <atomic>
#include <boost/dll/shared_library.hpp>
#include <exception>
#include <filesystem>
#include <mutex>
#include <system_error>
#include <utility>

#include "runtime/loader/file/dependencies.h"
#include "runtime/loader/file/linker_error.h"
#include "runtime/loader/library/library_mapping.h"
#include "runtime/loader/library/load_guard.h"
#include "runtime/loader/library/module_check.h"
#include "runtime/loader/library/openmp_runtimes.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using boost::dll::shared_library;

// Returns the dynamic linker's error if it refuses, else null. An exception of an initializer must not pass, since the
// dynamic linker's lock would stay taken. It ends the process, and LoadingScope names the library.
const char* refusal_of_linker(shared_library& library, const std::string& path, const LoadingScope& scope) noexcept {
  // RTLD_NODELETE keeps the library when the handle dies.
  constexpr auto kMode = static_cast<boost::dll::load_mode::type>(RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  std::error_code error;
  try {
    library.load(std::filesystem::path(path), error, kMode);
  } catch (const abi::__forced_unwind&) {
    scope.end_of_thread();
  } catch (...) {
    std::terminate();
  }
  if (!error) return nullptr;
  const char* text = ::dlerror();
  return text == nullptr ? "it reports no reason" : text;
}

const char* type_text(unsigned char type) {
  switch (type) {
    case STT_FUNC: return "a function";
    case STT_GNU_IFUNC: return "an indirect function";
    case STT_TLS: return "a thread-local variable";
    default: return "no object";
  }
}

// Checks that the only looked-up symbol is a belay_module, since it is read as one.
void check_entry(const ElfFile& elf, const std::string& path) {
  const auto refuse = [&](const std::string& reason, const std::string& help) {
    throw LoadError(LoadErrorKind::kBadModule, path, reason, help);
  };
  const std::string name = BELAY_MODULE_SYMBOL;
  const std::optional<ElfSymbol> entry = elf.find_export(name);
  if (entry && (entry->type == STT_OBJECT || entry->type == STT_NOTYPE)) return;
  if (entry)
    refuse(fmt::format("exports {} as {}, not as data", name, type_text(entry->type)),
           "let BELAY_MODULE write it, or define `const belay_module " + name + "` as abi.h describes");
  for (const ElfSymbol& symbol : elf.exports())
    if (symbol.name.rfind("_Z", 0) == 0 && symbol.name.find(name) != std::string::npos)
      refuse(fmt::format("exports `{}`, but not {}", demangled(symbol.name), name),
             "declare it extern \"C\" and outside of namespaces, so that its name is not mangled");
  refuse("has a plugin's note, but does not export " + name,
         "build it with belay_add_plugin; does a version script or -fvisibility hide the symbol?");
}

// Collects facts that matter before the library's initializers run, but not when a thousand files are listed.
void look_closer(const ByteSource& bytes, LibraryFile& file, const std::string& library_path) {
  const ElfFile elf(bytes, file.path);
  check_entry(elf, file.path);
  for (const std::string& flaw : link_flaws(elf))
    file.warnings.push_back("plugin '" + escaped(file.path) + "' " + flaw);
  for (const ShadowedDependency& d : shadowed_dependencies(file.path, library_path))
    file.warnings.push_back("same_soname: plugin '" + escaped(file.path) + "' gets " + escaped(d.name) + " from '" +
                            escaped(d.loaded) + "', which was loaded before, and not from '" + escaped(d.own) +
                            "'; link it with the other one, or give its own another SONAME");
}

[[noreturn]] void fail_exchanged(const std::string& path) {
  throw LoadError(LoadErrorKind::kStale, path, "was replaced or written to between its check and its loading",
                  "start the program again; a library is installed by a rename, while nothing starts that uses it");
}

void require_unchanged(const LibraryFile& file) {
  if (stamp_of(file.path) != file.stamp) fail_exchanged(file.path);
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
  warnings.push_back(
      fmt::format("two_openmp: with plugin '{}' this process has {} OpenMP runtimes, each with its own threads: {}; "
                  "build all with one compiler's -fopenmp",
                  escaped(path), now.size(), escaped(joined(now))));
}

// Libraries are never unloaded, and this list stays, too: a handler may read it at any time.
struct LoadedPlace {
  const void* base;
  std::string path;
  FileStamp stamp;
  const LoadedPlace* next;
};
std::atomic<const LoadedPlace*> loaded_places{nullptr};

const void* base_of(const void* address) noexcept {
  Dl_info info{};
  return ::dladdr(address, &info) == 0 ? nullptr : info.dli_fbase;
}

}  // namespace

const char* plugin_at(const void* address) noexcept {
  const void* base = base_of(address);
  for (const LoadedPlace* place = loaded_places; place != nullptr; place = place->next)
    if (base != nullptr && place->base == base) return place->path.c_str();
  return nullptr;
}

void each_loaded_plugin(void (*call)(void* context, const char* path), void* context) noexcept {
  for (const LoadedPlace* place = loaded_places; place != nullptr; place = place->next)
    call(context, place->path.c_str());
}

void each_overwritten_plugin(void (*call)(void* context, const char* path), void* context) noexcept {
  for (const LoadedPlace* place = loaded_places; place != nullptr; place = place->next) {
    const std::optional<FileStamp> now = stamp_of(place->path);
    if (now && now->identity == place->stamp.identity &&
        (now->size != place->stamp.size || now->modified_ns != place->stamp.modified_ns))
      call(context, place->path.c_str());
  }
}

Loader::Loader(FilePolicy& policy, const CpuFeatures& cpu, std::string library_path, std::chrono::milliseconds patience)
    : policy_(policy), cpu_(cpu), library_path_(std::move(library_path)), watch_(patience) {}
Loader::~Loader() = default;

const LoadedLibrary& Loader::load(const std::string& path, const std::optional<FileStamp>& expected) {
  const OpenLibrary opened = open_library(path);
  if (const LoadedLibrary* known = find_loaded(path, opened.stamp.identity)) return *known;
  if (expected && *expected != opened.stamp) fail_exchanged(path);
  LibraryFile file = vet_library(opened, path, policy_, cpu_);
  look_closer(*opened.bytes, file, library_path_);
  auto library = std::make_unique<LoadedLibrary>();
  const std::vector<std::string> openmp_before = loaded_openmp_runtimes();
  const belay_module& module = open(file, file.warnings);
  loaded_places = new LoadedPlace{base_of(&module), path, file.stamp, loaded_places};
  warn_of_openmp(path, openmp_before, file.warnings);
  library->path = path;
  library->identity = file.stamp.identity;
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
  static std::mutex one_at_a_time;  // the guarded state is the process's, and several threads may load for a run
  const std::lock_guard lock(one_at_a_time);
  ProcessStateGuard state;
  const SignalHandlers handlers;
  const LoadingScope scope(file.path, watch_);
  try {
    // The dynamic linker opens the path again. The path leads to the vetted file before and after, so the linker had
    // that file. A file that is moved away and back gets another time of change.
    require_unchanged(file);
    shared_library handle;
    if (const char* text = refusal_of_linker(handle, file.path, scope))
      throw explain_linker_error(file.path, text, library_path_);
    require_unchanged(file);
    const auto& module = handle.get<const belay_module>(BELAY_MODULE_SYMBOL);
    const LibraryMapping mapping(handle.native());
    check_module(module, file.module, file.path, &mapping);
    handlers.restore(&mapping);
    for (const std::string& changed : state.restore()) warnings.push_back(put_back_text(file.path, changed));
    return module;
  } catch (const LoadError&) {
    state.restore();
    handlers.restore(nullptr);
    throw;
  }
}

}  // namespace belay::runtime
