// SPDX-License-Identifier: Apache-2.0
/* Two operations in C11, written with abi.h alone: c_clip keeps elements of a float32 tensor between two limits, and
 * c_clip_grad is its gradient. */
#include <belay/abi.h>
#include <stdlib.h>
#include <string.h>

#define LIMITS                                                                                                   \
  "\"options\": [{\"name\": \"low\", \"type\": \"float\", \"default\": -1, \"help\": \"smallest\"}, {\"name\": " \
  "\"high\", \"type\": \"float\", \"default\": 1, \"help\": \"largest\"}]"
#define NOTE_TEXT                                                                                    \
  "{\"abi\": " BELAY_NOTE_ABI                                                                        \
  ", \"version\": \"1.0.0\", \"toolchain\": \"C11\", \"isa\": [], \"plugins\": [{\"kind\": \"op\", " \
  "\"name\": \"c_clip\", \"doc\": \"Keeps elements between two limits\", " LIMITS                    \
  "}, {\"kind\": \"op\", \"name\": "                                                                 \
  "\"c_clip_grad\", \"doc\": \"The gradient of c_clip\", " LIMITS "}]}"
BELAY_NOTE(note, NOTE_TEXT);

typedef struct Host {
  const belay_op_service* op;
  const belay_graph_api* graph;
} Host;

/* A kernel keeps these: the limits of its node, and the number of elements. */
typedef struct Clip {
  float low, high;
  int64_t n;
  const Host* host;
} Clip;

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

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  Host* h = calloc(1, sizeof(*h));
  (void)options, (void)n_options;
  if (h == NULL) return fail(status, BELAY_RESOURCE_EXHAUSTED, "out of memory");
  h->op = (const belay_op_service*)api->service(host, text_of("op"));
  h->graph = (const belay_graph_api*)api->service(host, text_of("graph"));
  if (h->op == NULL || h->graph == NULL) {
    free(h);
    return fail(status, BELAY_UNIMPLEMENTED, "needs the services op and graph");
  }
  *self = h;
  return BELAY_OK;
}

static void destroy(void* self) { free(self); }

static int32_t two_inputs(void* self, belay_op_traits* traits, belay_status* status) {
  (void)self, (void)status;
  traits->n_inputs = 2;
  traits->flags = BELAY_OP_ELEMENTWISE;
  traits->in_place = 3;
  return BELAY_OK;
}

static int32_t infer(void* self, const belay_op_node* node, belay_op_outputs* outputs, belay_status* status) {
  const belay_tensor* x = &node->inputs[0];
  if (x->dtype != BELAY_FLOAT32) return fail(status, BELAY_INVALID_ARGUMENT, "wants float32");
  return ((Host*)self)->op->output(outputs, x->dtype, x->rank, x->dims, status);
}

static int32_t make_kernel(void* self, const belay_op_kernel_args* args, void** kernel, belay_status* status) {
  const belay_op_node* node = args->node;
  Clip* c = calloc(1, sizeof(*c));
  uint64_t i;
  int32_t d;
  if (c == NULL) return fail(status, BELAY_RESOURCE_EXHAUSTED, "out of memory");
  c->low = -1, c->high = 1, c->n = 1;
  for (i = 0; i < node->n_attrs; ++i) {
    const float value = (float)*(const double*)node->attrs[i].value.data;
    if (node->attrs[i].name.size == 3) c->low = value;
    if (node->attrs[i].name.size == 4) c->high = value;
  }
  for (d = 0; d < node->inputs[0].rank; ++d) c->n *= node->inputs[0].dims[d];
  c->host = (const Host*)self;
  *kernel = c;
  return BELAY_OK;
}

static void destroy_kernel(void* self, void* kernel) {
  (void)self;
  free(kernel);
}

typedef struct Part {
  const Clip* clip;
  const float* x;
  const float* dy;
  float* out;
} Part;

static void clip_part(void* arg, int64_t begin, int64_t end) {
  const Part* p = (const Part*)arg;
  for (; begin < end; ++begin) {
    const float x = p->x[begin];
    const int inside = x >= p->clip->low && x <= p->clip->high;
    p->out[begin] = p->dy != NULL ? (inside ? p->dy[begin] : 0)
                    : inside      ? x
                    : x < p->clip->low ? p->clip->low
                                       : p->clip->high;
  }
}

static int32_t run(void* self, void* kernel, const belay_op_run* run, belay_status* status) {
  const Clip* c = (const Clip*)kernel;
  Part part;
  part.clip = c;
  part.x = (const float*)run->inputs[0].data;
  part.dy = run->n_inputs == 2 ? (const float*)run->inputs[1].data : NULL;
  part.out = (float*)run->outputs[0].data;
  return ((Host*)self)->op->parallel(run->context, c->n, 1024, clip_part, &part, status);
}

static int32_t gradient(void* self, const belay_op_gradient_args* args, belay_status* status) {
  const belay_graph_api* graph = ((Host*)self)->graph;
  belay_output inputs[2];
  belay_node_def def;
  int32_t code;
  inputs[0] = args->inputs[0];
  inputs[1] = args->output_gradients[0];
  BELAY_INIT(def);
  def.op = text_of("CClipGrad");
  def.inputs = inputs, def.n_inputs = 2;
  def.attrs = args->node->attrs, def.n_attrs = args->node->n_attrs;
  code = graph->add_node(args->graph, &def, &args->input_gradients[0].node, status);
  if (code == BELAY_OK) args->input_gradients[0].graph = graph->serial(args->graph);
  return code;
}

static const belay_op_api clip = {.struct_size = sizeof(belay_op_api),
                                  .create = create,
                                  .destroy = destroy,
                                  .infer = infer,
                                  .make_kernel = make_kernel,
                                  .run = run,
                                  .destroy_kernel = destroy_kernel,
                                  .gradient = gradient};
static const belay_op_api clip_grad = {.struct_size = sizeof(belay_op_api),
                                       .create = create,
                                       .destroy = destroy,
                                       .traits = two_inputs,
                                       .infer = infer,
                                       .make_kernel = make_kernel,
                                       .run = run,
                                       .destroy_kernel = destroy_kernel};
static const belay_plugin clip_plugin = {BELAY_KIND_OP, 0, "c_clip", &clip};
static const belay_plugin clip_grad_plugin = {BELAY_KIND_OP, 0, "c_clip_grad", &clip_grad};
static const belay_plugin* const plugins[] = {&clip_plugin, &clip_grad_plugin};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {
    BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0, note.text, sizeof(NOTE_TEXT) - 1,
    plugins,            2};
