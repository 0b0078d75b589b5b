// SPDX-License-Identifier: Apache-2.0
// Loads plugin libraries. It checks the file (library_file.h), lets the dynamic linker load it, and checks its exports
// (module_check.h). The mapped file is the checked one. Only this code runs a library's code before an instance is
// created: the initializers of its global objects, guarded by load_guard.h.
//
// A library is loaded once, however its path is written, and stays until the process ends. This holds even if its check
// fails, and after the Loader is gone. Its threads, thread-local destructors and exit handlers may outlive anything
// here. It is loaded with RTLD_NOW | RTLD_LOCAL, from an absolute path.
//
// [main], before other threads are started. The dynamic linker's lock and a library's initializers conflict with
// threads that load libraries, too.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "belay/abi.h"
#include "runtime/loader/file/library_file.h"
#include "runtime/loader/file/load_error.h"
#include "runtime/loader/library/load_guard.h"

namespace belay::runtime {

struct LoadedLibrary {
  std::string path;
  FileIdentity identity;
  ModuleInfo info;
  const belay_module* module = nullptr;  // checked; valid until the process ends
  // Facts for the user: an insecure place, a fault of linking, a changed floating-point mode (fp_mode). Also a needed
  // library that another plugin brought from elsewhere (same_soname), and a second OpenMP runtime (two_openmp).
  std::vector<std::string> warnings;
};

// Returns the path of the plugin whose library has this address, or null. Allocates nothing. For handlers; any thread.
const char* plugin_at(const void* address) noexcept;
// Calls `call` with the paths of all plugins that this process has loaded, the latest first. Allocates nothing. For
// handlers; any thread.
void each_loaded_plugin(void (*call)(void* context, const char* path), void* context) noexcept;
// Does the same for plugins whose file was written to since they were loaded: their code changed during the run. A file
// replaced by a rename does not count.
void each_overwritten_plugin(void (*call)(void* context, const char* path), void* context) noexcept;

class Loader {
 public:
  // Borrows both. `library_path` is LD_LIBRARY_PATH; it explains missing and replaced libraries. After `patience`,
  // stderr reports that a library's initializers still run.
  Loader(FilePolicy& policy, const CpuFeatures& cpu, std::string library_path,
         std::chrono::milliseconds patience = kLoadingPatience);
  ~Loader();

  // `path` is absolute. Throws LoadError; nothing of a failed library is used later. The reference is valid as long as
  // the Loader. `expected` is the file whose note was read before. Another file, or one that was written to since, is
  // stale, and none of its code runs.
  const LoadedLibrary& load(const std::string& path, const std::optional<FileStamp>& expected = {});

  // All are loaded: ends the thread that watches loading. Another load() starts it again.
  void rest() { watch_.rest(); }

  // Returns the path of the library that is being loaded, or an empty text. Call it from any thread.
  std::string loading() const { return watch_.loading(); }

  // Returns the warnings of all libraries loaded so far, in their order.
  const std::vector<std::string>& warnings() const noexcept { return warnings_; }

 private:
  // Returns null if it is not loaded. Throws if `path` now leads to another file than the loaded one.
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
