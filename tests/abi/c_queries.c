// SPDX-License-Identifier: Apache-2.0
/* A hook and an init function in C11, written with abi.h alone: they log the answer of each query of "core" and
 * "session" in one line. */
#include <belay/abi.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE_TEXT                                                                                                  \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                      \
  ", \"version\": \"1.0.0\", \"toolchain\": \"C11\", \"isa\": [], \"plugins\": [{\"kind\": \"hook\", \"name\": "   \
  "\"c_queries\", "                                                                                                \
  "\"doc\": \"Says what each query answers\", \"options\": []}, {\"kind\": \"init_fn\", \"name\": \"c_queries\", " \
  "\"doc\": \"Says what each query answers\", \"options\": []}]}"
BELAY_NOTE(note, NOTE_TEXT);

typedef struct Queries {
  const belay_core_api* core;
  const belay_session_api* session;
  belay_host* host;
} Queries;

static belay_str text_of(const char* text) {
  belay_str s = {text, strlen(text)};
  return s;
}

static int32_t fail(belay_status* status, int32_t code, const char* text) {
  uint64_t n = strlen(text);
  if (n > status->capacity) n = status->capacity;
  memcpy(status->text, text, n);
  status->size = n;
  return code;
}

/* `session` and `run` may be null: there is none. */
static void say(const Queries* q, const char* callback, belay_session* session, belay_run* run) {
  char text[1024];
  const belay_str dir = q->core->run_directory(q->host);
  int n = snprintf(text, sizeof(text),
                   "%s: mode=%" PRId32 " rank=%" PRId32 " ranks=%" PRId32 " chief=%" PRId32 " attempt=%" PRId64
                   " stopping=%" PRId32 " seed=%" PRIu64 " dir=%.*s",
                   callback, q->core->mode(q->host), q->core->rank(q->host), q->core->ranks(q->host),
                   q->core->is_chief(q->host), q->core->attempt(q->host), q->core->stopping(q->host),
                   q->core->seed(q->host), (int)dir.size, dir.size == 0 ? "" : dir.data);
  if (session != NULL) {
    char message[64];
    belay_status status = {message, sizeof(message), 0};
    int64_t step = -1;
    q->session->global_step(session, &step, &status);
    n += snprintf(text + n, sizeof(text) - (size_t)n, " step=%" PRId64, step);
  }
  if (run != NULL) snprintf(text + n, sizeof(text) - (size_t)n, " run=%" PRId64, q->session->run_number(run));
  q->core->log(q->host, BELAY_LOG_INFO, text_of(text));
}

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  Queries* q = calloc(1, sizeof(*q));
  (void)options, (void)n_options;
  if (q == NULL) return fail(status, BELAY_RESOURCE_EXHAUSTED, "out of memory");
  q->host = host;
  q->core = (const belay_core_api*)api->service(host, text_of("core"));
  q->session = (const belay_session_api*)api->service(host, text_of("session"));
  if (q->core == NULL || q->session == NULL) {
    free(q);
    return fail(status, BELAY_UNIMPLEMENTED, "needs the services core and session");
  }
  *self = q;
  say(q, "create", NULL, NULL);
  return BELAY_OK;
}

static void destroy(void* self) { free(self); }

static int32_t after_create_session(void* self, belay_session* session, belay_status* status) {
  (void)status;
  say((const Queries*)self, "after_create_session", session, NULL);
  return BELAY_OK;
}

static int32_t after_run(void* self, belay_run* run, const belay_run_values* values, belay_status* status) {
  const Queries* q = (const Queries*)self;
  (void)values, (void)status;
  say(q, "after_run", q->session->run_session(run), run);
  return BELAY_OK;
}

static int32_t run_init(void* self, belay_graph* graph, belay_session* session, belay_status* status) {
  (void)graph, (void)status;
  say((const Queries*)self, "init", session, NULL);
  return BELAY_OK;
}

static const belay_hook_api hook_table = {
    .struct_size = sizeof(belay_hook_api),
    .create = create,
    .destroy = destroy,
    .after_create_session = after_create_session,
    .after_run = after_run,
};
static const belay_init_fn_api init_table = {
    .struct_size = sizeof(belay_init_fn_api), .create = create, .destroy = destroy, .run = run_init};
static const belay_plugin hook = {BELAY_KIND_HOOK, 0, "c_queries", &hook_table};
static const belay_plugin init_fn = {BELAY_KIND_INIT_FN, 0, "c_queries", &init_table};
static const belay_plugin* const plugins[] = {&hook, &init_fn};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC,
                                                                             sizeof(belay_module),
                                                                             BELAY_ABI_MAJOR,
                                                                             BELAY_ABI_MINOR,
                                                                             0,
                                                                             0,
                                                                             note.text,
                                                                             sizeof(NOTE_TEXT) - 1,
                                                                             plugins,
                                                                             2};
