// SPDX-License-Identifier: Apache-2.0
// Loads plugin libraries: vets the file (library_file.h), then lets the dynamic linker have it, then checks what it
// exports (module_check.h). The mapped file is the vetted one. This is the only place that runs a library's own code
// before an instance is created: the initializers of its global objects, guarded by load_guard.h.
//
// A library is loaded once, however its path is written, and stays until the process ends, also where its check fails
// and after the Loader is gone: its threads, thread-local destructors and exit handlers may outlive anything here. It
// is loaded with RTLD_NOW | RTLD_LOCAL, from an absolute path.
//
// [main], before other threads are started: the dynamic linker's lock and a library's initializers do not go together
// with threads that load libraries too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "runtime/loader/library_file.h"
#include "runtime/loader/load_error.h"
#include "runtime/loader/load_guard.h"

namespace belay::runtime {

struct LoadedLibrary {
  std::string path;
  FileIdentity identity;
  ModuleInfo info;
  const belay_module* module = nullptr;  // checked; valid until the process ends
  // What the user should know: an insecure place, a flaw of linking, a changed floating-point mode (fp_mode), a library
  // that it needs and that another plugin brought from elsewhere (same_soname), a second OpenMP runtime (two_openmp).
  std::vector<std::string> warnings;
};

// The path of the plugin whose library holds this address, or null. Allocates nothing; for handlers, any thread.
const char* plugin_at(const void* address) noexcept;
// The paths of all plugins that this process has loaded, the latest first. Allocates nothing; for handlers, any thread.
void each_loaded_plugin(void (*call)(void* context, const char* path), void* context) noexcept;
// The same of those whose file was written to since it was loaded: their code is another one in the middle of the run.
// One that was replaced by a rename is none of them.
void each_overwritten_plugin(void (*call)(void* context, const char* path), void* context) noexcept;

class Loader {
 public:
  // Both are borrowed. `library_path`: LD_LIBRARY_PATH, to explain what is missing and what is loaded from elsewhere.
  // `patience`: how long the initializers of a library may take before stderr says so.
  Loader(FilePolicy& policy, const CpuFeatures& cpu, std::string library_path,
         std::chrono::milliseconds patience = kLoadingPatience);
  ~Loader();

  // `path` is absolute. Throws LoadError; nothing of a library that failed is used later. The reference is valid as
  // long as the Loader. `expected`: the file whose note was read before; another one, or one that was written to since,
  // is stale and none of its code runs.
  const LoadedLibrary& load(const std::string& path, const std::optional<FileStamp>& expected = {});

  // All are loaded: ends the thread that watches over loading. Another load() starts it again.
  void rest() { watch_.rest(); }

  // The path of the library that is being loaded, or empty. Any thread.
  std::string loading() const { return watch_.loading(); }

  // Of all libraries loaded so far, in their order.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  // Null where it is not loaded. Throws where `path` now leads to another file than the one that was loaded.
  const LoadedLibrary* find_loaded(const std::string& path, const FileIdentity& identity) const;
  const belay_module& open(const LibraryFile& file, std::vector<std::string>& warnings);

  FilePolicy& policy_;
  const CpuFeatures& cpu_;
  std::string library_path_;
  std::map<FileIdentity, std::unique_ptr<LoadedLibrary>> libraries_;
  std::vector<std::string> warnings_;
  LoadingWatch watch_;
};

}  // namespace belay::runtime
