// SPDX-License-Identifier: Apache-2.0
/* A library that was built against a header of the future: it has a plugin of a kind that there is not today, an input that
 * declares a component in a role that there is not, and a hook that uses neither. */
#include <belay/abi.h>
#include <string.h>

#define KIND_STAGE 99
#define ROLE_WEIGHT 3

#define NOTE_TEXT                                                                                                \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                    \
  ", \"version\": \"9.0.0\", \"plugins\": [{\"kind\": \"stage\", \"name\": \"new_kind\"}, {\"kind\": \"hook\", " \
  "\"name\": \"plain\"}, {\"kind\": \"input\", \"name\": \"new_role\"}]}"
BELAY_NOTE(note, NOTE_TEXT);

static const belay_input_service* service;
static int instance;

static belay_str str(const char* text) {
  belay_str s = {text, 0};
  s.size = strlen(text);
  return s;
}
static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  (void)options, (void)n_options, (void)status;
  service = (const belay_input_service*)api->service(host, str("input"));
  *self = &instance;
  return BELAY_OK;
}
static void destroy(void* self) { (void)self; }

static int32_t spec(void* self, belay_input_spec* spec, belay_status* status) {
  const int64_t dims[] = {-1};
  (void)self;
  return service->declare(spec, ROLE_WEIGHT, str("weight"), BELAY_FLOAT32, 1, dims, status);
}
static int32_t open_(void* self, int64_t shard, int64_t shards, uint64_t seed, belay_status* status) {
  return (void)self, (void)shard, (void)shards, (void)seed, (void)status, BELAY_OK;
}
static int32_t next(void* self, belay_batch* batch, belay_position* position, belay_status* status) {
  return (void)self, (void)batch, (void)position, (void)status, BELAY_OUT_OF_RANGE;
}
static int32_t seek(void* self, const belay_position* position, belay_status* status) {
  return (void)self, (void)position, (void)status, BELAY_OK;
}

static const belay_hook_api hook = {.struct_size = sizeof(belay_hook_api), .create = create, .destroy = destroy};
static const belay_input_api input = {.struct_size = sizeof(belay_input_api),
                                      .create = create,
                                      .destroy = destroy,
                                      .spec = spec,
                                      .open = open_,
                                      .next = next,
                                      .seek = seek};
static const belay_plugin plugin_0 = {KIND_STAGE, 0, "new_kind", &hook};
static const belay_plugin plugin_1 = {BELAY_KIND_HOOK, 0, "plain", &hook};
static const belay_plugin plugin_2 = {BELAY_KIND_INPUT, 0, "new_role", &input};
static const belay_plugin* const plugins[] = {&plugin_0, &plugin_1, &plugin_2};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {
    BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0, note.text, sizeof(NOTE_TEXT) - 1,
    plugins,            3};
