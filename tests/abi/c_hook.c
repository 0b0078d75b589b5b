// SPDX-License-Identifier: Apache-2.0
/* A hook in C11, written with abi.h alone: stops the run when a scalar rises above a limit. */
#include <belay/abi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TEXT                                                                                                   \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                       \
  ", \"version\": \"2.1.0\", \"toolchain\": \"C11\", \"isa\": [], \"plugins\": [{\"kind\": "                        \
  "\"hook\", \"name\": \"c_ceiling\", \"doc\": \"Stops the run when a scalar rises above a limit\", \"options\": [" \
  "{\"name\": \"max\", \"type\": \"float\", \"default\": 10, \"min\": 0, \"help\": \"stop above this\"}, "          \
  "{\"name\": \"tensor\", \"type\": \"string\", \"default\": \"loss\", \"help\": \"scalar to watch\"}]}]}"
BELAY_NOTE(note, NOTE_TEXT);

typedef struct Ceiling {
  const belay_core_api* core;
  const belay_graph_api* graph;
  const belay_session_api* session;
  belay_host* host;
  double max;
  char tensor[64];
  belay_output output;
} Ceiling;

static belay_str text_of(const char* text) {
  belay_str s = {text, strlen(text)};
  return s;
}

static int is_named(belay_str s, const char* name) { return s.size == strlen(name) && memcmp(s.data, name, s.size) == 0; }

static int32_t fail(belay_status* status, int32_t code, const char* text) {
  uint64_t n = strlen(text);
  if (n > status->capacity) n = status->capacity;
  memcpy(status->text, text, n);
  status->size = n;
  return code;
}

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  Ceiling* c = calloc(1, sizeof(*c));
  uint64_t i;
  if (c == NULL) return fail(status, BELAY_RESOURCE_EXHAUSTED, "out of memory");
  c->host = host;
  c->core = (const belay_core_api*)api->service(host, text_of("core"));
  c->graph = (const belay_graph_api*)api->service(host, text_of("graph"));
  c->session = (const belay_session_api*)api->service(host, text_of("session"));
  c->max = 10;
  strcpy(c->tensor, "loss");
  for (i = 0; i < n_options; ++i) {
    const belay_value* v = &options[i].value;
    if (is_named(options[i].name, "max") && v->type == BELAY_VALUE_FLOAT) c->max = *(const double*)v->data;
    if (is_named(options[i].name, "tensor") && v->type == BELAY_VALUE_TEXT) {
      const belay_str* s = (const belay_str*)v->data;
      if (s->size >= sizeof(c->tensor)) {
        free(c);
        return fail(status, BELAY_INVALID_ARGUMENT, "tensor: at most 63 bytes");
      }
      memcpy(c->tensor, s->data, s->size);
      c->tensor[s->size] = 0;
    }
  }
  if (c->core == NULL || c->graph == NULL || c->session == NULL) {
    free(c);
    return fail(status, BELAY_UNIMPLEMENTED, "needs the services core, graph and session");
  }
  *self = c;
  return BELAY_OK;
}

static void destroy(void* self) { free(self); }

static int32_t begin(void* self, belay_graph* graph, belay_status* status) {
  Ceiling* c = (Ceiling*)self;
  return c->graph->find(graph, text_of(c->tensor), &c->output, status);
}

static int32_t before_run(void* self, belay_run* run, belay_run_args* args, belay_status* status) {
  (void)run, (void)status;
  args->fetches = &((Ceiling*)self)->output;
  args->n_fetches = 1;
  return BELAY_OK;
}

static int32_t after_run(void* self, belay_run* run, const belay_run_values* values, belay_status* status) {
  Ceiling* c = (Ceiling*)self;
  char text[128];
  float value;
  if (values->n_results != 1 || values->results[0].dtype != BELAY_FLOAT32)
    return fail(status, BELAY_INVALID_ARGUMENT, "the tensor is no float32 scalar");
  value = *(const float*)values->results[0].data;
  if (value <= c->max) return BELAY_OK;
  snprintf(text, sizeof(text), "%s is %g, above %g", c->tensor, (double)value, c->max);
  c->core->log(c->host, BELAY_LOG_WARNING, text_of(text));
  c->session->run_request_stop(run, text_of(text));
  return BELAY_OK;
}

static const belay_hook_api table = {
    .struct_size = sizeof(belay_hook_api),
    .create = create,
    .destroy = destroy,
    .begin = begin,
    .before_run = before_run,
    .after_run = after_run,
};
static const belay_plugin plugin = {BELAY_KIND_HOOK, 0, "c_ceiling", &table};
static const belay_plugin* const plugins[] = {&plugin};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {
    BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0, note.text, sizeof(NOTE_TEXT) - 1,
    plugins,            1};
