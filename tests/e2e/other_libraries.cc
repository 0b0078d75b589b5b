// SPDX-License-Identifier: Apache-2.0
// Preloaded: the libraries that the numbers depend on are of versions that do not exist.
#include <dlfcn.h>
#include <dnnl.h>

extern "C" const dnnl_version_t* dnnl_version() {
  static const dnnl_version_t other = [] {
    using Call = const dnnl_version_t* (*)();
    dnnl_version_t version = *reinterpret_cast<Call>(::dlsym(RTLD_NEXT, "dnnl_version"))();
    version.major = 99;
    version.minor = version.patch = 0;
    return version;
  }();
  return &other;
}

extern "C" const char* gnu_get_libc_version() noexcept { return "9.99"; }
