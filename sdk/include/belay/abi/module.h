/* SPDX-License-Identifier: Apache-2.0 */
/* The library's exported object and its note.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_MODULE_H_
#define BELAY_ABI_MODULE_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* name: [a-z][a-z0-9_-]{0,62}, or two such names as VENDOR.NAME with at most 63 bytes in all. It is unique per kind in
 * the library. table: the kind's table above. A plugin of an unknown kind, or with an option of an unknown type, is
 * listed as unusable. The library's other plugins work. */
typedef struct belay_plugin {
  int32_t kind;
  uint32_t reserved;
  const char* name;
  const void* table;
} belay_plugin;

/* The exported object, as data and with C's name. Its first 32 bytes never change, in any major version. The object and
 * all that it points to are in the library itself. If two libraries export one symbol name, the dynamic linker may take
 * one object for both. So the host refuses a module whose note, plugins, names or tables belong to another library. */
typedef struct belay_module {
  uint64_t magic;
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor; /* the lowest minor that has all features the library uses */
  uint32_t flags;     /* 0 */
  uint64_t reserved;
  const char* note; /* the JSON of the ELF note, at the note's own bytes */
  uint64_t note_size;
  const belay_plugin* const* plugins;
  uint64_t n_plugins;
} belay_module;

/* The ELF note: section ".note.belay" (type SHT_NOTE, allocated, 4-byte aligned), owner "BELAY", type 1. The descriptor
 * is the JSON without a final NUL, padded with NULs to a multiple of 4:
 *
 *   {"abi": [0, 4], "version": "1.0.0", "toolchain": "gcc 12.2.0, C++17", "isa": ["sse2"],
 *    "plugins": [{"kind": "hook", "name": "loss_ceiling", "doc": "Stops the run ...",
 *                 "options": [{"name": "max", "type": "float", "default": 10, "min": 0, "max": 1e30, "help": "..."}]}]}
 *
 * Two keys of a plugin may be absent, which means "not known". "uses" lists the optional callbacks that the plugin has,
 * by their names in the SDK. "state", of a hook, states whether the hook keeps state in checkpoints.
 *
 * Option types: bool int float string path table, and bool_list int_list float_list string_list path_list.
 * Keys of an option:
 * * "default"; absent: none. "required": true. "min", "max": for numbers and elements of lists. "choices": [string...].
 * * "example": a value that a user might write. A table's example is its TOML as a string ("{ loss = 1.0 }").
 * * "example_file", of a path that is read: the bytes of an example file, one character U+0000 to U+00FF per byte.
 * * "watching": true if no value of the option changes a number of the training. Absent: it may change one.
 * * "learned", of an input: true if the value decides the contents of the batches. Other inputs of the model that do
 *   not set the option get the training's value.
 *
 * A key below a table is an option too, listed after the table's own option. Its name is a path, "layers[].units" or
 * "features.*.dtype". [] is each element of a list of tables; * is each key, with any name. A table with such options
 * has no other keys. Each such table in the manifest needs the required ones. "when": {"type": ["dense"]} limits the
 * option to tables whose key "type" has one of these values. That key is an option of the same table and has choices.
 * The same path may be declared again for other values. "single": true, of a list: the manifest may give one value in
 * place of the list; it crosses as one value.
 *
 * "isa" lists the CPU features that the code needs beyond the architecture's baseline, as in /proc/cpuinfo.
 * Limits: 1 MiB in all, 8 levels of nesting, 64 KiB per string. A path has at most two *, a "when" at most 64 values.
 * The tables of a plugin have at most 1,000 keys below them. Unknown keys are ignored.
 *
 * A plugin in C writes its note with BELAY_NOTE and places it in the module, for example:
 *
 *   #define NOTE "{\"abi\": " BELAY_NOTE_ABI ", ...}"
 *   BELAY_NOTE(my_note, NOTE);
 *   const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0,
 *                                         my_note.text, sizeof(NOTE) - 1, plugins, 1};
 */
#define BELAY_NOTE_TYPE 1
#define BELAY_NOTE(variable, json)                                                   \
  __attribute__((section(".note.belay"), used, aligned(4))) static const struct {    \
    uint32_t name_size;                                                              \
    uint32_t text_size;                                                              \
    uint32_t type;                                                                   \
    char name[8];                                                                    \
    char text[(sizeof(json) + 3) / 4 * 4];                                           \
  } variable = {6, sizeof(json) - 1, BELAY_NOTE_TYPE, "BELAY", json}

BELAY_C_END

#endif /* BELAY_ABI_MODULE_H_ */
