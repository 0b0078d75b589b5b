// SPDX-License-Identifier: Apache-2.0
/* An operation whose kernel cannot run: a mandatory slot of its kind is null. */
#include <belay/abi.h>
#include <stddef.h>

#define NOTE_TEXT                                                                                \
  "{\"abi\": " BELAY_NOTE_ABI                                                                    \
  ", \"version\": \"1.0.0\", \"toolchain\": \"by hand\", \"isa\": [], \"plugins\": [{\"kind\": " \
  "\"op\", \"name\": \"minimal\", \"doc\": \"Computes nothing\", \"options\": []}]}"
BELAY_NOTE(note, NOTE_TEXT);

static int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options,
                      void** self, belay_status* status) {
  (void)api, (void)host, (void)options, (void)n_options, (void)status;
  *self = (void*)&note;
  return BELAY_OK;
}
static void destroy(void* self) { (void)self; }
static int32_t infer(void* self, const belay_op_node* node, belay_op_outputs* outputs, belay_status* status) {
  (void)self, (void)node, (void)outputs, (void)status;
  return BELAY_OK;
}
static int32_t make_kernel(void* self, const belay_op_kernel_args* args, void** kernel, belay_status* status) {
  (void)args, (void)status;
  *kernel = self;
  return BELAY_OK;
}
static void destroy_kernel(void* self, void* kernel) { (void)self, (void)kernel; }

static const belay_op_api table = {.struct_size = sizeof(belay_op_api),
                                   .create = create,
                                   .destroy = destroy,
                                   .infer = infer,
                                   .make_kernel = make_kernel,
                                   .destroy_kernel = destroy_kernel};
static const belay_plugin plugin = {BELAY_KIND_OP, 0, "minimal", &table};
static const belay_plugin* const plugins[] = {&plugin};

__attribute__((visibility("default"))) const belay_module belay_module_v0 = {
    BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0, note.text, sizeof(NOTE_TEXT) - 1,
    plugins,            1};
