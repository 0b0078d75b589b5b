// SPDX-License-Identifier: Apache-2.0
/* The note, the table and the entry point of the hook in hook.go. */
#include "_cgo_export.h"

#define NOTE_TEXT                                                                                               \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                   \
  ", \"version\": \"0.0.1\", \"toolchain\": \"Go\", \"isa\": [], \"plugins\": [{\"kind\": \"hook\", "           \
  "\"name\": \"hand_built\", \"doc\": \"Built by Go\", \"options\": [{\"name\": \"max\", \"type\": \"float\", " \
  "\"default\": 10, \"help\": \"a limit\"}]}]}"
BELAY_NOTE(note, NOTE_TEXT);

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  uintptr_t handle = 0;
  const int32_t code = goCreate((belay_host_api*)api, host, (belay_named_value*)options, n_options, &handle, status);
  *self = (void*)handle;
  return code;
}

static void destroy(void* self) { goDestroy((uintptr_t)self); }

static int32_t end(void* self, belay_session* session, belay_status* status) {
  (void)session;
  return goEnd((uintptr_t)self, status);
}

static const belay_hook_api table = {
    .struct_size = sizeof(belay_hook_api), .create = create, .destroy = destroy, .end = end};
static const belay_plugin plugin = {BELAY_KIND_HOOK, 0, "hand_built", &table};
static const belay_plugin* const plugins[] = {&plugin};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC,
                                                                             sizeof(belay_module),
                                                                             BELAY_ABI_MAJOR,
                                                                             BELAY_ABI_MINOR,
                                                                             0,
                                                                             0,
                                                                             note.text,
                                                                             sizeof(NOTE_TEXT) - 1,
                                                                             plugins,
                                                                             1};
