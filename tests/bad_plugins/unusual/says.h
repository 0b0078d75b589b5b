// SPDX-License-Identifier: Apache-2.0
/* A hook that fails in `begin` with what belay_test_who returns as the message. */
#include <belay/abi.h>
#include <string.h>

const char* belay_test_who(void);

static int32_t begin(void* self, belay_graph* graph, belay_status* status) {
  const char* who = belay_test_who();
  const uint64_t n = strlen(who);
  (void)self, (void)graph;
  status->size = n < status->capacity ? n : status->capacity;
  memcpy(status->text, who, status->size);
  return BELAY_ABORTED;
}

#define TABLE_BEGIN begin
#include "../minimal_hook.h"
