/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters: a trained model, written for another program.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_EXPORTER_H_
#define BELAY_ABI_EXPORTER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* A plugin that the run uses. Valid as long as the args that point at it. */
typedef struct belay_export_plugin {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  int32_t kind;   /* of BELAY_KIND_... */
  int32_t reserved;
  belay_str name;
  belay_str version; /* of its library */
  belay_str file;    /* the library's absolute path; empty: linked into the program */
  belay_str hash;    /* identifies the library's code: its build id, else a hash of it; empty: linked into the program */
} belay_export_plugin;

/* What is exported: one signature of a model in BELAY_MODE_PREDICT, with the variables of one checkpoint. The struct and
 * all that it points at are valid for the call. */
typedef struct belay_export_args {
  uint32_t struct_size;
  uint32_t flags;        /* 0 */
  belay_graph* graph;    /* frozen; asked with "graph" */
  /* Those that the outputs depend on, each behind its inputs; bodies' own nodes are not among them. */
  const uint32_t* nodes;
  uint64_t n_nodes;
  belay_str signature; /* its name: "serving_default" */
  belay_str method;    /* "predict", "classify" or "regress" */
  /* What a caller gives and gets, under the names that it uses. Nothing before an input is among `nodes`; a dimension
   * that a caller chooses, of the examples, is -1. At least one of each. */
  const belay_named_output* inputs;
  uint64_t n_inputs;
  const belay_named_output* outputs;
  uint64_t n_outputs;
  belay_tensors* variables; /* of `nodes`, by their names there; asked with count and get of "saver" */
  int64_t global_step;      /* of the checkpoint */
  belay_str model;          /* the model plugin's name */
  belay_str manifest;       /* the run's, as it is in effect, in TOML; empty: a program composed the run */
  const belay_export_plugin* const* plugins;
  uint64_t n_plugins;
  /* What the training learned of its data: features and labels with the names of their columns and classes, as JSON
   * (docs/reference/inputs.md). The host writes it beside the exporter's files as schema.json. Empty: not known. */
  belay_str schema;
} belay_export_args;

/* Writes files into a new directory that the host has opened. The host checksums what passes through "files", syncs it,
 * and gives the directory its name when both calls are done; after an error the directory is removed. `dir` is valid for
 * the call. All [session].
 *   write  creates files in `dir`, at least one, and closes them. UNIMPLEMENTED where the model has something that the
 *          format cannot say, naming node and operation. Mandatory.
 *   check  opens what write left in `dir` (which can be read only now) and compares it with args, which are the same:
 *          DATA_LOSS, with file and place. Absent: nothing is compared. */
typedef struct belay_exporter_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, const belay_export_args* args, belay_dir* dir, belay_status* status);
  int32_t (*check)(void* self, const belay_export_args* args, belay_dir* dir, belay_status* status);
} belay_exporter_api;

BELAY_C_END

#endif /* BELAY_ABI_EXPORTER_H_ */
