// SPDX-License-Identifier: Apache-2.0
/* A whole hook library written with abi.h alone. Each bad plugin of this folder is this one with one macro changed, and
 * so breaks one clause of the contract. */
#include <belay/abi.h>
#include <stddef.h>

#ifndef NOTE_NAME
#define NOTE_NAME "minimal"
#endif
#ifndef NOTE_KIND
#define NOTE_KIND "hook"
#endif
#ifndef NOTE_ABI
#define NOTE_ABI BELAY_NOTE_ABI
#endif
#ifndef NOTE_ISA
#define NOTE_ISA "[]"
#endif
#ifndef NOTE_PLUGIN
#define NOTE_PLUGIN \
  "{\"kind\": \"" NOTE_KIND "\", \"name\": \"" NOTE_NAME "\", \"doc\": \"Does nothing\", \"options\": []}"
#endif
#ifndef NOTE_TEXT
#define NOTE_TEXT                                                                                  \
  "{\"abi\": " NOTE_ABI ", \"version\": \"1.0.0\", \"toolchain\": \"by hand\", \"isa\": " NOTE_ISA \
  ", \"plugins\": [" NOTE_PLUGIN "]}"
#endif
#ifndef MODULE_MAGIC
#define MODULE_MAGIC BELAY_MODULE_MAGIC
#endif
#ifndef MODULE_STRUCT_SIZE
#define MODULE_STRUCT_SIZE sizeof(belay_module)
#endif
#ifndef MODULE_ABI_MINOR
#define MODULE_ABI_MINOR BELAY_ABI_MINOR
#endif
#ifndef MODULE_FLAGS
#define MODULE_FLAGS 0
#endif
#ifndef MODULE_NOTE
#define MODULE_NOTE note.text
#endif
#ifndef MODULE_PLUGINS
#define MODULE_PLUGINS plugins
#endif
#ifndef MODULE_N_PLUGINS
#define MODULE_N_PLUGINS 1
#endif
#ifndef PLUGIN_ENTRY
#define PLUGIN_ENTRY &plugin
#endif
#ifndef PLUGIN_KIND
#define PLUGIN_KIND BELAY_KIND_HOOK
#endif
#ifndef PLUGIN_NAME
#define PLUGIN_NAME "minimal"
#endif
#ifndef PLUGIN_TABLE
#define PLUGIN_TABLE &table
#endif
#ifndef TABLE_STRUCT_SIZE
#define TABLE_STRUCT_SIZE sizeof(belay_hook_api)
#endif
#ifndef TABLE_CREATE
#define TABLE_CREATE create
#endif
#ifndef TABLE_DESTROY
#define TABLE_DESTROY destroy
#endif
#ifndef TABLE_BEGIN
#define TABLE_BEGIN 0
#endif

#ifndef NO_NOTE
BELAY_NOTE(note, NOTE_TEXT);
#else
static const struct { char text[sizeof(NOTE_TEXT)]; } note = {NOTE_TEXT};
#endif

static int instance;

__attribute__((unused)) static int32_t create(const belay_host_api* api, belay_host* host,
                                              const belay_named_value* options, uint64_t n_options, void** self,
                                              belay_status* status) {
  (void)api, (void)host, (void)options, (void)n_options, (void)status;
  *self = &instance;
  return BELAY_OK;
}

__attribute__((unused)) static void destroy(void* self) { (void)self; }

static const belay_hook_api table = {
    .struct_size = TABLE_STRUCT_SIZE, .create = TABLE_CREATE, .destroy = TABLE_DESTROY, .begin = TABLE_BEGIN};
__attribute__((unused)) static const belay_plugin plugin = {PLUGIN_KIND, 0, PLUGIN_NAME, PLUGIN_TABLE};
__attribute__((unused)) static const belay_plugin* const plugins[] = {PLUGIN_ENTRY};

#ifdef __cplusplus
extern "C" __attribute__((visibility("default"))) const belay_module belay_module_v0;
#endif
#ifndef NO_MODULE
__attribute__((visibility("default"))) const belay_module belay_module_v0 = {
    MODULE_MAGIC, MODULE_STRUCT_SIZE,    BELAY_ABI_MAJOR, MODULE_ABI_MINOR, MODULE_FLAGS, 0,
    MODULE_NOTE,  sizeof(NOTE_TEXT) - 1, MODULE_PLUGINS,  MODULE_N_PLUGINS};
#endif
