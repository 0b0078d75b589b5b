// SPDX-License-Identifier: Apache-2.0
/* A hook whose `begin` calls a service of the host that throws inside, and hands on its error. */
#include <belay/abi.h>

typedef struct failing_api {
  int32_t (*fail)(belay_host* host, belay_status* status);
} failing_api;

static const failing_api* failing;
static belay_host* its_host;
static int object;

static int32_t create_and_ask(const belay_host_api* api, belay_host* host, const belay_named_value* options,
                              uint64_t n_options, void** self, belay_status* status) {
  const belay_str name = {"failing", 7};
  (void)options, (void)n_options, (void)status;
  its_host = host;
  failing = (const failing_api*)api->service(host, name);
  *self = &object;
  return BELAY_OK;
}

static int32_t begin(void* self, belay_graph* graph, belay_status* status) {
  (void)self, (void)graph;
  return failing->fail(its_host, status);
}

#define TABLE_CREATE create_and_ask
#define TABLE_BEGIN begin
#include "../minimal_hook.h"
