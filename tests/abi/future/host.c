// SPDX-License-Identifier: Apache-2.0
/* A host of the future: all that the headers of this folder append is there, and its structs are longer. It takes a plugin
 * of today, a hook or an input, through its life:
 *
 *   host LIBRARY PLUGIN
 *
 * prints a line per callback that the plugin has, and fails where the plugin wrote beyond its struct or called a slot that
 * it cannot know. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "background_save.h"
#include "child_process.h"
#include "cluster.h"
#include "devices.h"
#include "streaming_input.h"

static int of_the_future; /* calls of what no plugin of today knows */

static belay_str str(const char* text) {
  const belay_str s = {text, strlen(text)};
  return s;
}
static int is(belay_str s, const char* text) { return s.size == strlen(text) && memcmp(s.data, text, s.size) == 0; }

/* ---- core */

static void log_line(belay_host* host, int32_t level, belay_str text) {
  (void)host, (void)level;
  printf("log %.*s\n", (int)text.size, text.data);
}
static int32_t yes(belay_host* host, int32_t level) { return (void)host, (void)level, 1; }
static int64_t no_time(belay_host* host) { return (void)host, 0; }
static belay_str no_text(belay_host* host) { return (void)host, str(""); }
static uint64_t seed(belay_host* host) { return (void)host, 42; }
static int32_t zero(belay_host* host) { return (void)host, 0; }

static const belay_core_api core = {.struct_size = sizeof(core),
                                    .log = log_line,
                                    .log_enabled = yes,
                                    .monotonic_ns = no_time,
                                    .wall_ns = no_time,
                                    .run_directory = no_text,
                                    .instance_name = no_text,
                                    .seed = seed,
                                    .interactive = zero,
                                    .mode = zero,
                                    .rank = zero,
                                    .stopping = zero};

/* ---- graph and session, as much as a hook that watches the loss needs */

static int32_t find(belay_graph* graph, belay_str name, belay_output* output, belay_status* status) {
  const belay_output loss = {1, 5, 0};
  (void)graph, (void)status;
  if (!is(name, "loss")) return BELAY_NOT_FOUND;
  *output = loss;
  return BELAY_OK;
}
static void request_stop(belay_run* run, belay_str reason) {
  (void)run;
  printf("stop %.*s\n", (int)reason.size, reason.data);
}
static const belay_graph_api graph = {.struct_size = sizeof(graph), .find = find};
static const belay_session_api session = {.struct_size = sizeof(session), .run_request_stop = request_stop};

/* ---- input */

static _Alignas(64) char elements[1 << 18];
static int32_t declare(belay_input_spec* spec, int32_t role, belay_str name, int32_t dtype, int32_t rank,
                       const int64_t* dims, belay_status* status) {
  (void)spec, (void)role, (void)dtype, (void)dims, (void)status;
  printf("declares %.*s of rank %d\n", (int)name.size, name.data, (int)rank);
  return BELAY_OK;
}
static int32_t tensor(belay_batch* batch, uint32_t slot, int32_t rank, const int64_t* dims, belay_tensor* t,
                      belay_status* status) {
  uint64_t n = slot == 0 ? 4 : 8; /* digits: float32 images, int64 labels */
  int32_t i;
  (void)batch, (void)status;
  for (i = 0; i < rank; ++i) n *= (uint64_t)dims[i];
  if (n > sizeof(elements)) return BELAY_RESOURCE_EXHAUSTED;
  t->dtype = slot == 0 ? BELAY_FLOAT32 : BELAY_INT64;
  t->rank = rank, t->dims = dims, t->data = elements, t->bytes = n, t->device = BELAY_DEVICE_HOST, t->flags = 0;
  return BELAY_OK;
}
static int32_t set_classes(belay_input_spec* spec, uint32_t slot, int64_t classes, belay_status* status) {
  return (void)spec, (void)slot, (void)classes, (void)status, BELAY_OK;
}
static int32_t set_class_names(belay_input_spec* spec, uint32_t slot, const belay_str* names, uint64_t count,
                               belay_status* status) {
  return (void)spec, (void)slot, (void)names, (void)count, (void)status, BELAY_OK;
}
static int32_t available(belay_batch* batch, int64_t examples, belay_status* status) {
  return (void)batch, (void)examples, (void)status, ++of_the_future, BELAY_OK;
}
static const belay_input_service_with_streams input = {.before = {.struct_size = sizeof(input),
                                                                  .declare = declare,
                                                                  .tensor = tensor,
                                                                  .set_classes = set_classes,
                                                                  .set_class_names = set_class_names},
                                                       .available = available};

static const void* service(belay_host* host, belay_str name) {
  (void)host;
  if (is(name, "core")) return &core;
  if (is(name, "graph")) return &graph;
  if (is(name, "session")) return &session;
  return is(name, "input") ? &input : NULL;
}
static const belay_host_api api = {sizeof(api), 0, service};

/* ---- the plugin */

static char message[4096];
static belay_status status = {message, sizeof(message), 0};

static void check(const char* callback, int32_t code) {
  if (code == BELAY_OK) {
    printf("%s\n", callback);
    return;
  }
  printf("%s: code %d: %.*s\n", callback, (int)code, (int)status.size, message);
  exit(1);
}
/* The memory after a struct of today is as it was. */
static void untouched(const char* callback, const void* end, uint64_t size) {
  const char* at = (const char*)end;
  uint64_t i;
  for (i = 0; i < size; ++i) {
    if (at[i] == 0) continue;
    printf("%s wrote behind its struct\n", callback);
    exit(1);
  }
}

static void run_hook(const belay_hook_api* hook, void* self) {
  struct {
    belay_run_args before;
    uint64_t later[4];
  } args;
  struct {
    belay_run_values before;
    uint64_t later[4];
  } values;
  belay_saved_with_figures saved;
  const float losses[] = {2, 30};
  int i;
  if (hook->begin) check("begin", hook->begin(self, (belay_graph*)&api, &status));
  for (i = 0; i < 2; ++i) {
    const belay_tensor loss = {BELAY_FLOAT32, 0, NULL, (void*)&losses[i], 4, BELAY_DEVICE_HOST, BELAY_TENSOR_READ_ONLY};
    memset(&args, 0, sizeof(args));
    args.before.struct_size = sizeof(args);
    check("before_run", hook->before_run(self, (belay_run*)&api, &args.before, &status));
    untouched("before_run", args.later, sizeof(args.later));
    memset(&values, 0, sizeof(values));
    values.before.struct_size = sizeof(values);
    values.before.results = &loss;
    values.before.n_results = args.before.n_fetches;
    check("after_run", hook->after_run(self, (belay_run*)&api, &values.before, &status));
  }
  memset(&saved, 0, sizeof(saved));
  saved.before.struct_size = sizeof(saved);
  if (hook->after_save) check("after_save", hook->after_save(self, (belay_session*)&api, &saved.before, &status));
  untouched("after_save", &saved.stalled_ns, sizeof(saved) - sizeof(belay_saved));
}

static void run_input(const belay_input_api* in, void* self) {
  static uint8_t bytes[BELAY_POSITION_BYTES];
  belay_position_with_time at;
  memset(&at, 0, sizeof(at));
  at.before.struct_size = sizeof(at);
  at.before.bytes = bytes;
  at.before.capacity = sizeof(bytes);
  check("spec", in->spec(self, (belay_input_spec*)&api, &status));
  check("open", in->open(self, 0, 1, 42, &status));
  check("next", in->next(self, (belay_batch*)&api, &at.before, &status));
  untouched("next", &at.event_time_ns, sizeof(at.event_time_ns));
  printf("at epoch %d, example %d\n", (int)at.before.epoch, (int)at.before.index);
  check("seek", in->seek(self, &at.before, &status));
  at.before.flags = BELAY_POSITION_TIMED; /* which a plugin of today must refuse */
  printf("seek with a flag of the future: code %d\n", (int)in->seek(self, &at.before, &status));
}

int main(int argc, char** argv) {
  const belay_module* module;
  void *library, *self = NULL;
  uint64_t i;
  if (argc != 3 || (library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
    printf("usage: host LIBRARY PLUGIN: %s\n", argc == 3 ? dlerror() : "two arguments");
    return 2;
  }
  module = (const belay_module*)dlsym(library, BELAY_MODULE_SYMBOL);
  if (module == NULL || module->magic != BELAY_MODULE_MAGIC) return printf("this is no module\n"), 2;
  for (i = 0; i < module->n_plugins; ++i) {
    const belay_plugin* plugin = module->plugins[i];
    if (strcmp(plugin->name, argv[2]) != 0) continue;
    if (plugin->kind == BELAY_KIND_HOOK) {
      const belay_hook_api* hook = (const belay_hook_api*)plugin->table;
      check("create", hook->create(&api, (belay_host*)&api, NULL, 0, &self, &status));
      run_hook(hook, self);
      hook->destroy(self);
    } else if (plugin->kind == BELAY_KIND_INPUT) {
      const belay_input_api* in = (const belay_input_api*)plugin->table;
      check("create", in->create(&api, (belay_host*)&api, NULL, 0, &self, &status));
      run_input(in, self);
      in->destroy(self);
    }
    printf("destroy\ncalls of the future: %d\n", of_the_future);
    return of_the_future == 0 ? 0 : 1;
  }
  printf("there is no plugin %s\n", argv[2]);
  return 2;
}
