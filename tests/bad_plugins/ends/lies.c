// SPDX-License-Identifier: Apache-2.0
/* A hook in C whose before_run, create and statuses report what is not so. The environment has the lie:
 * LIE=huge_fetches. Being C it has no barrier of the SDK: pthread_exit and longjmp unwind straight into the host. */
#include <belay/abi.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#define TEXT                                                                               \
  "{\"abi\": " BELAY_NOTE_ABI                                                              \
  ", \"version\": \"1.0.0\", \"toolchain\": \"c\", \"isa\": [], \"plugins\": [{\"kind\": " \
  "\"hook\", \"name\": \"lies\", \"doc\": \"Says what is not so\", \"options\": []}]}"
BELAY_NOTE(note, TEXT);

static const belay_graph_api* graph_service;
static belay_output loss, step;
static int calls;

static int lie(const char* what) {
  const char* wanted = getenv("LIE");
  return wanted != 0 && strcmp(wanted, what) == 0;
}

static belay_str text(const char* s) {
  const belay_str view = {s, strlen(s)};
  return view;
}

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  (void)options, (void)n_options;
  graph_service = api->service(host, text("graph"));
  *self = &calls;
  if (lie("create_yields_and_fails")) return BELAY_INVALID_ARGUMENT;
  if (lie("long_status")) {
    memcpy(status->text, "short", 5);
    status->size = UINT64_C(1) << 40;
    return BELAY_INTERNAL;
  }
  if (lie("exit_in_create")) exit(0);
  return BELAY_OK;
}

static void destroy(void* self) { (void)self; }

static jmp_buf gone;
__attribute__((noinline)) static int remember(void) { return setjmp(gone); }

static int32_t begin(void* self, belay_graph* graph, belay_status* status) {
  (void)self;
  remember();
  const int32_t code = graph_service->find(graph, text("global_step"), &step, status);
  return code != BELAY_OK ? code : graph_service->find(graph, text("loss"), &loss, status);
}

static int64_t dims[2] = {1, 1};
static float value[1];
static belay_output fetches[2];
static belay_feed feeds[1];
static belay_run_options run_options;

static int32_t before_run(void* self, belay_run* run, belay_run_args* args, belay_status* status) {
  (void)self, (void)run, (void)status;
  if (++calls < 3) return BELAY_OK;
  const belay_tensor scalar = {BELAY_FLOAT32, 0, 0, value, sizeof(float), BELAY_DEVICE_HOST, 0};
  fetches[0] = loss;
  feeds[0].output = loss;
  feeds[0].value = scalar;
  args->fetches = fetches;
  args->feeds = feeds;
  args->n_fetches = 1;
  if (lie("huge_fetches")) args->n_fetches = UINT64_C(1) << 60;
  if (lie("null_fetches")) args->fetches = 0;
  if (lie("wild_fetches")) args->fetches = (const belay_output*)16;
  if (lie("wild_feed")) args->n_feeds = 1, feeds[0].value.data = (void*)16;
  if (lie("no_such_node")) fetches[0].node = 4000000;
  if (lie("no_such_output")) fetches[0].index = 7;
  if (lie("other_graph")) fetches[0].graph = 77;
  if (lie("empty_output")) memset(fetches, 0, sizeof(fetches));
  if (lie("huge_feeds")) args->n_feeds = UINT64_C(1) << 60;
  if (lie("null_feeds")) args->n_feeds = 1, args->feeds = 0;
  if (lie("feed_of_rank_a_million")) args->n_feeds = 1, feeds[0].value.rank = 1000000;
  if (lie("feed_of_negative_rank")) args->n_feeds = 1, feeds[0].value.rank = -3;
  if (lie("feed_without_data")) args->n_feeds = 1, feeds[0].value.data = 0;
  if (lie("feed_of_no_dtype")) args->n_feeds = 1, feeds[0].value.dtype = 99;
  if (lie("feed_of_an_operation")) args->n_feeds = 1, feeds[0].output.index = BELAY_OPERATION;
  if (lie("feed_for_no_node")) args->n_feeds = 1, feeds[0].output.node = 4000000;
  if (lie("feed_with_dims")) args->n_feeds = 1, feeds[0].value.rank = 2, feeds[0].value.dims = dims;
  if (lie("feed_of_too_few_bytes")) args->n_feeds = 1, feeds[0].value.bytes = 1;
  if (lie("feed_on_another_device")) args->n_feeds = 1, feeds[0].value.device = 3;
  if (lie("feed_with_a_flag")) args->n_feeds = 1, feeds[0].value.flags = 64;
  BELAY_INIT(run_options);
  if (lie("options_without_size")) args->options = &run_options, run_options.struct_size = 0;
  if (lie("options_with_a_flag")) args->options = &run_options, run_options.flags = 8;
  if (lie("options_of_no_level")) args->options = &run_options, run_options.trace_level = 9;
  if (lie("args_zeroed")) memset(args, 0, sizeof(*args));
  if (lie("args_with_a_flag")) args->flags = 2;
  return BELAY_OK;
}

static int32_t after_run(void* self, belay_run* run, const belay_run_values* values, belay_status* status) {
  (void)self, (void)run, (void)values, (void)status;
  if (calls < 3) return BELAY_OK;
  if (lie("pthread_exit")) pthread_exit(0);
  if (lie("longjmp")) longjmp(gone, 1);
  return BELAY_OK;
}

static const belay_hook_api table = {.struct_size = sizeof(belay_hook_api),
                                     .create = create,
                                     .destroy = destroy,
                                     .begin = begin,
                                     .before_run = before_run,
                                     .after_run = after_run};
static const belay_plugin plugin = {BELAY_KIND_HOOK, 0, "lies", &table};
static const belay_plugin* const plugins[] = {&plugin};
__attribute__((visibility("default"))) const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC,
                                                                             sizeof(belay_module),
                                                                             BELAY_ABI_MAJOR,
                                                                             BELAY_ABI_MINOR,
                                                                             0,
                                                                             0,
                                                                             note.text,
                                                                             sizeof(TEXT) - 1,
                                                                             plugins,
                                                                             1};
