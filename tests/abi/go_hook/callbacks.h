// SPDX-License-Identifier: Apache-2.0
/* Go cannot express this of abi.h: a call through a function pointer. */
#pragma once
#include <belay/abi.h>
#include <stdint.h>

static inline void log_line(const belay_host_api* api, belay_host* host, const char* text, uint64_t size) {
  const belay_str core_name = {"core", 4};
  const belay_str line = {text, size};
  const belay_core_api* core = (const belay_core_api*)api->service(host, core_name);
  core->log(host, BELAY_LOG_INFO, line);
}
