// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/instance/held_call.h"

#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace belay::runtime {
namespace {

// Makes a fence on each thread of the process. Its earlier stores are visible from here on, and its later loads see
// earlier stores from here.
bool fence_on_all_threads() noexcept {
  const auto call = [](int command) { return ::syscall(SYS_membarrier, command, 0, 0) == 0; };
  if (call(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED) && call(MEMBARRIER_CMD_PRIVATE_EXPEDITED)) return true;
  return call(MEMBARRIER_CMD_GLOBAL);
}

}  // namespace

HeldCall::HeldCall(CallMonitor& monitor) noexcept : monitor_(monitor) {
  monitor_.holder.store(std::this_thread::get_id());
  monitor_.held.store(true);
  if (!fence_on_all_threads()) return;
  // Not null: the thread has not taken it back, and will find `held` when it does.
  const PluginInstance* instance = monitor_.instance.load(std::memory_order_acquire);
  const char* callback = monitor_.callback.load();
  if (instance == nullptr || callback == nullptr) return;
  instance_ = instance;
  callback_ = callback;
}

HeldCall::~HeldCall() {
  monitor_.held.store(false, std::memory_order_release);
  monitor_.held.notify_all();
}

}  // namespace belay::runtime
