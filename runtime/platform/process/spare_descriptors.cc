// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/spare_descriptors.h"

#include <fcntl.h>
#include <unistd.h>

#include <atomic>

namespace belay::runtime {
namespace {

// A save opens these at once: its directory, two files of its saver, a listing, the state file.
constexpr int kSpares = 6;

struct Spare {
  std::atomic<int> fd{-1};
};
Spare spares[kSpares];
std::atomic<bool> missing{false};

}  // namespace

void hold_spare_descriptors() noexcept {
  for (Spare& spare : spares) {
    if (spare.fd >= 0) continue;
    const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (fd < 0) {
      missing = true;
      return;
    }
    int none = -1;
    if (!spare.fd.compare_exchange_strong(none, fd)) ::close(fd);  // another thread was faster
  }
}

bool release_spare_descriptor() noexcept {
  for (Spare& spare : spares) {
    const int fd = spare.fd.exchange(-1);
    if (fd < 0) continue;
    ::close(fd);
    missing = true;
    return true;
  }
  return false;
}

void restore_spare_descriptors() noexcept {
  if (missing.load(std::memory_order_relaxed) && missing.exchange(false)) hold_spare_descriptors();
}

}  // namespace belay::runtime
