// SPDX-License-Identifier: Apache-2.0
// A hook written in C++ without the SDK, so without its barrier. The option "fault" names its mistake.
#include <belay/abi.h>

#include <cstdint>
#include <cstring>
#include <new>
#include <stdexcept>
#include <string>

namespace {

#define NOTE_TEXT                                                                                                \
  "{\"abi\": " BELAY_NOTE_ABI                                                                                    \
  ", \"version\": \"0.9\", \"toolchain\": \"by hand\", \"isa\": [], \"plugins\": [{\"kind\": "                   \
  "\"hook\", "                                                                                                   \
  "\"name\": \"misbehaving\", \"doc\": \"Does what it is told not to do\", \"options\": [{\"name\": \"fault\", " \
  "\"type\": "                                                                                                   \
  "\"string\", \"default\": \"\", \"help\": \"what to do wrong\"}]}]}"
BELAY_NOTE(note, NOTE_TEXT);

struct Unspeakable : std::exception {
  const char* what() const noexcept override { return nullptr; }
};

struct Self {
  std::string fault;
};

const std::string& fault(void* self) { return static_cast<Self*>(self)->fault; }

std::int32_t say(belay_status* status, std::int32_t code, const std::string& text) {
  status->size = text.size() < status->capacity ? text.size() : status->capacity;
  std::memcpy(status->text, text.data(), status->size);
  return code;
}

std::int32_t create(const belay_host_api*, belay_host*, const belay_named_value* options, std::uint64_t n, void** self,
                    belay_status* status) {
  std::string what;
  for (std::uint64_t i = 0; i < n; ++i) {
    if (options[i].value.type != BELAY_VALUE_TEXT) continue;
    const auto* text = static_cast<const belay_str*>(options[i].value.data);
    what.assign(text->data, text->size);
  }
  if (what == "throw in create") throw std::invalid_argument("alpha must lie in (0, 1)");
  if (what == "throw a text in create") throw std::string("alpha");
  if (what == "throw int in create") throw 42;
  if (what == "throw without text in create") throw Unspeakable();
  if (what == "throw bad_alloc in create") throw std::bad_alloc();
  if (what == "unknown code in create") return say(status, 4711, "what is this");
  if (what == "refuse") return say(status, BELAY_INVALID_ARGUMENT, "alpha must lie in (0, 1)");
  if (what == "no instance") return BELAY_OK;
  *self = new Self{what};
  return BELAY_OK;
}

void destroy(void* self) {
  const bool throws = fault(self) == "throw in destroy";
  delete static_cast<Self*>(self);
  if (throws) throw std::runtime_error("not now");
}

// "code 11": each callback that may fail returns that.
std::int32_t wanted_code(void* self, belay_status* status) {
  const std::string& f = fault(self);
  return f.rfind("code ", 0) == 0 ? say(status, std::stoi(f.substr(5)), "on purpose") : BELAY_OK;
}

std::int32_t begin(void* self, belay_graph*, belay_status* status) {
  const std::string& f = fault(self);
  if (f == "unknown code") return say(status, -3, "minus three");
  if (f == "no message") return BELAY_ABORTED;
  if (f == "megabyte") return say(status, BELAY_INTERNAL, std::string(1 << 20, 'x'));
  if (f == "says more than it wrote") {
    say(status, BELAY_INTERNAL, "short");
    status->size = UINT64_MAX;
    return BELAY_INTERNAL;
  }
  if (f == "escapes") return say(status, BELAY_DATA_LOSS, "two\nlines \x1b[31m and \xff");
  if (f == "stop") return say(status, BELAY_STOP, "enough");
  return wanted_code(self, status);
}

std::int32_t before_run(void* self, belay_run*, belay_run_args*, belay_status* status) {
  return wanted_code(self, status);
}
std::int32_t before_save(void* self, belay_session*, std::int64_t, belay_status* status) {
  return wanted_code(self, status);
}

std::int32_t after_run(void* self, belay_run*, const belay_run_values*, belay_status* status) {
  const std::string& f = fault(self);
  if (f == "throw") throw std::runtime_error("boom");
  if (f == "throw int") throw 42;
  if (f == "throw without text") throw Unspeakable();
  if (f == "throw bad_alloc") throw std::bad_alloc();
  return wanted_code(self, status);
}

constexpr belay_hook_api make_table() {
  belay_hook_api t{};
  t.struct_size = sizeof(t);
  t.create = create;
  t.destroy = destroy;
  t.begin = begin;
  t.before_run = before_run;
  t.after_run = after_run;
  t.before_save = before_save;
  return t;
}
const belay_hook_api table = make_table();
const belay_plugin plugin = {BELAY_KIND_HOOK, 0, "misbehaving", &table};
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
