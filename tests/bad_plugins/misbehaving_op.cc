// SPDX-License-Identifier: Apache-2.0
// An operation written in C++ without the SDK, so without its barrier: one float32 input, one output like it. The
// attribute "fault" names the mistake of a node.
#include <belay/abi.h>

#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>

namespace {

#define NOTE_TEXT                                                                                                   \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                       \
  ", \"version\": \"0.9\", \"toolchain\": \"by hand\", \"isa\": [], \"plugins\": [{\"kind\": \"op\", "              \
  "\"name\": \"misbehaving_op\", \"doc\": \"Does what it is told not to do\", \"options\": [{\"name\": \"fault\", " \
  "\"type\": \"string\", \"default\": \"\", \"help\": \"what to do wrong\"}]}]}"
BELAY_NOTE(note, NOTE_TEXT);

struct Self {
  const belay_op_service* service;
};

std::string fault_of(const belay_op_node* node) {
  if (node->n_attrs == 0 || node->attrs[0].value.type != BELAY_VALUE_TEXT) return "";
  const auto* text = static_cast<const belay_str*>(node->attrs[0].value.data);
  return std::string(text->data, text->size);
}

std::int32_t say(belay_status* status, std::int32_t code, const std::string& text) {
  status->size = text.size() < status->capacity ? text.size() : status->capacity;
  std::memcpy(status->text, text.data(), status->size);
  return code;
}

std::int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value*, std::uint64_t, void** self,
                    belay_status*) {
  *self = new Self{static_cast<const belay_op_service*>(api->service(host, {"op", 2}))};
  return BELAY_OK;
}
void destroy(void* self) { delete static_cast<Self*>(self); }

bool all_known(const belay_tensor& t) {
  for (std::int32_t d = 0; d < t.rank; ++d)
    if (t.dims[d] < 0) return false;
  return t.rank >= 0;
}

std::int32_t infer(void* self, const belay_op_node* node, belay_op_outputs* outputs, belay_status* status) {
  const std::string f = fault_of(node);
  const belay_tensor& x = node->inputs[0];
  const bool known = all_known(x);
  const std::int64_t odd[] = {7, 7, 7, -2};
  const auto output = [&](std::int32_t dtype, std::int32_t rank, const std::int64_t* dims) {
    return static_cast<Self*>(self)->service->output(outputs, dtype, rank, dims, status);
  };
  if (x.dtype != BELAY_FLOAT32) return say(status, BELAY_INVALID_ARGUMENT, "input 0 must be float32");
  if (f == "throw in infer") throw std::runtime_error("boom");
  if (f == "refuse") return say(status, BELAY_OUT_OF_RANGE, "too much of it");
  if (f == "no output") return BELAY_OK;
  if (f == "unknown dtype") return output(77, 0, nullptr);
  if (f == "string") return output(BELAY_STRING, 0, nullptr);
  if (f == "negative rank") return output(x.dtype, -5, nullptr);
  if (f == "no dims") return output(x.dtype, 2, nullptr);
  if (f == "negative dimension") return output(x.dtype, 4, odd);
  if (f == "never known") return output(x.dtype, -1, nullptr);
  if (f == "another shape when it runs") return output(x.dtype, known ? 3 : x.rank, known ? odd : x.dims);
  if (f == "another dtype when it runs") return output(known ? BELAY_INT32 : x.dtype, x.rank, x.dims);
  if (f == "another output when it runs" && known) output(x.dtype, x.rank, x.dims);
  return output(x.dtype, x.rank, x.dims);
}

std::int32_t make_kernel(void*, const belay_op_kernel_args* args, void** kernel, belay_status* status) {
  const std::string f = fault_of(args->node);
  if (f == "throw in make_kernel") throw std::runtime_error("boom");
  if (f == "fail in make_kernel") return say(status, BELAY_RESOURCE_EXHAUSTED, "no room");
  if (f != "no kernel") *kernel = new std::string(f);
  return BELAY_OK;
}

std::int32_t run(void*, void* kernel, const belay_op_run* run, belay_status* status) {
  const std::string& f = *static_cast<std::string*>(kernel);
  if (f == "throw in run") throw std::runtime_error("boom");
  if (f == "throw int in run") throw 42;
  if (f == "fail in run") return say(status, BELAY_DATA_LOSS, "half of it is gone");
  if (f == "unknown code in run") return say(status, 4711, "what is this");
  if (f == "out of range in run") return say(status, BELAY_OUT_OF_RANGE, "element 7");
  const belay_tensor& x = run->inputs[0];
  if (x.bytes != 0) std::memcpy(run->outputs[0].data, x.data, x.bytes);  // without elements there is no memory
  if (f == "write past the end") std::memset(static_cast<char*>(run->outputs[0].data) + run->outputs[0].bytes, 1, 4);
  if (f == "write before the start") std::memset(static_cast<char*>(run->outputs[0].data) - 8, 1, 8);
  return BELAY_OK;
}

void destroy_kernel(void*, void* kernel) {
  const bool throws = *static_cast<std::string*>(kernel) == "throw in destroy_kernel";
  delete static_cast<std::string*>(kernel);
  if (throws) throw std::runtime_error("not now");
}

std::int32_t gradient(void*, const belay_op_gradient_args* args, belay_status* status) {
  const std::string f = fault_of(args->node);
  if (f == "throw in gradient") throw std::runtime_error("boom");
  if (f == "fail in gradient") return say(status, BELAY_UNIMPLEMENTED, "somebody else's work");
  args->input_gradients[0] = args->output_gradients[0];
  if (f == "gradient of another graph") args->input_gradients[0].graph += 1000;
  if (f == "gradient from nowhere") args->input_gradients[0].node += 1000;
  if (f == "operation as gradient") args->input_gradients[0].index = BELAY_OPERATION;
  if (f == "gradient of no input") args->input_gradients[1] = args->output_gradients[0];
  return BELAY_OK;
}

constexpr belay_op_api make_table() {
  belay_op_api t{};
  t.struct_size = sizeof(t);
  t.create = create;
  t.destroy = destroy;
  t.infer = infer;
  t.make_kernel = make_kernel;
  t.run = run;
  t.destroy_kernel = destroy_kernel;
  t.gradient = gradient;
  return t;
}
const belay_op_api table = make_table();
const belay_plugin plugin = {BELAY_KIND_OP, 0, "misbehaving_op", &table};
const belay_plugin* const plugins[] = {&plugin};

}  // namespace

extern "C" __attribute__((visibility("default"))) const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC,
                                                                                        sizeof(belay_module),
                                                                                        BELAY_ABI_MAJOR,
                                                                                        BELAY_ABI_MINOR,
                                                                                        0,
                                                                                        0,
                                                                                        note.text,
                                                                                        sizeof(NOTE_TEXT) - 1,
                                                                                        plugins,
                                                                                        1};
