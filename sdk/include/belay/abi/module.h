/* SPDX-License-Identifier: Apache-2.0 */
/* The library's exported object and its note.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_MODULE_H_
#define BELAY_ABI_MODULE_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* name: [a-z][a-z0-9_-]{0,62}, or VENDOR.NAME of two such and at most 63 bytes in all; unique per kind in the library.
 * table: the kind's table above. A plugin whose kind the host does not know, or with an option of a type that it does not
 * know, is listed as unusable; the library's other plugins work. */
typedef struct belay_plugin {
  int32_t kind;
  uint32_t reserved;
  const char* name;
  const void* table;
} belay_plugin;

/* The exported object, as data and with C's name. Its first 32 bytes never change, in any major. It and all that it points
 * to lie in the library itself: of two exported symbols of one name the dynamic linker may take one for both libraries,
 * and the host refuses a module whose note, plugins, names or tables are another library's. */
typedef struct belay_module {
  uint64_t magic;
  uint32_t struct_size;
  uint32_t abi_major;
  uint32_t abi_minor; /* the lowest minor whose features the library uses */
  uint32_t flags;     /* 0 */
  uint64_t reserved;
  const char* note; /* the JSON of the ELF note, at its own bytes */
  uint64_t note_size;
  const belay_plugin* const* plugins;
  uint64_t n_plugins;
} belay_module;

/* The ELF note: section ".note.belay" (type SHT_NOTE, allocated, 4-byte aligned), owner "BELAY", type 1, descriptor = the
 * JSON without a final NUL, padded with NULs to a multiple of 4:
 *
 *   {"abi": [0, 4], "version": "1.0.0", "toolchain": "gcc 12.2.0, C++17", "isa": ["sse2"],
 *    "plugins": [{"kind": "hook", "name": "loss_ceiling", "doc": "Stops the run ...",
 *                 "options": [{"name": "max", "type": "float", "default": 10, "min": 0, "max": 1e30, "help": "..."}]}]}
 *
 * Of a plugin, where it is known: "uses": [callback...], those that it has of the ones that a plugin of its kind may
 * lack, by their names in the SDK, and of a hook "state": whether it keeps one in checkpoints. Absent: not known.
 *
 * Option types: bool int float string path table, and bool_list int_list float_list string_list path_list. Of an option:
 * "default" (absent: none), "required": true, "min", "max" (numbers and elements of lists), "choices": [string...],
 * "example": a value that a user might write, of a table its TOML as a string ("{ loss = 1.0 }"); of a path that is read
 * "example_file": the bytes that are to lie there, a character each, U+0000 to U+00FF; "watching": true where no value
 * of it changes a number of the training (absent: it may); of an input "learned": true where the value decides what the
 * batches hold, so that other inputs of the model which do not set it have the training's.
 *
 * A key below a table is an option, too, listed behind that table's own: its name is a path, "layers[].units" or
 * "features.*.dtype", where [] is each element of a list of tables and * each key, however it is called. A table with
 * such options has no other keys, and each of its tables that is there needs the required ones. "when": {"type":
 * ["dense"]}: it belongs to those tables alone whose key "type" (an option beside it, with choices) is one of these; the
 * same path may be declared once more for others. "single": true, of a list: one value in its place may be given, too,
 * and crosses as it was given.
 *
 * "isa" lists what the code needs beyond the architecture's baseline, as in /proc/cpuinfo.
 * Limits: 1 MiB in all, 8 levels of nesting, 64 KiB a string; two * in a path, 64 values in a "when", and 1,000 keys
 * below the tables of a plugin. Unknown keys are ignored.
 *
 * A plugin in C states its note with BELAY_NOTE and places it as above, for example:
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
