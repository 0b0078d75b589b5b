/* SPDX-License-Identifier: Apache-2.0 */
/* Exporters, which write a trained model for another program.
 * Part of belay/abi.h, which states the rules for all parts. */
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
  belay_str hash;    /* identifies the library's code by its build id, else by a hash; empty: linked in */
} belay_export_plugin;

/* One signature of a model in BELAY_MODE_PREDICT, with the variables of one checkpoint. The struct and all that it
 * points at are valid for the call. */
typedef struct belay_export_args {
  uint32_t struct_size;
  uint32_t flags;        /* 0 */
  belay_graph* graph;    /* frozen; read it with the service "graph" */
  /* The nodes that the outputs depend on, each after its inputs. They exclude the nodes inside bodies. */
  const uint32_t* nodes;
  uint64_t n_nodes;
  belay_str signature; /* its name: "serving_default" */
  belay_str method;    /* "predict", "classify" or "regress" */
  /* The tensors that a caller gives and gets, under the caller's names; at least one of each. `nodes` has no node
   * before an input. A dimension that a caller chooses, of the examples, is -1. */
  const belay_named_output* inputs;
  uint64_t n_inputs;
  const belay_named_output* outputs;
  uint64_t n_outputs;
  belay_tensors* variables; /* of `nodes`, by their names there; read them with count and get of "saver" */
  int64_t global_step;      /* of the checkpoint */
  belay_str model;          /* the model plugin's name */
  belay_str manifest;       /* the run's effective manifest in TOML; empty: a program composed the run */
  const belay_export_plugin* const* plugins;
  uint64_t n_plugins;
  /* The training's schema: features and labels with the names of their columns and classes, as JSON
   * (docs/reference/inputs.md). The host writes it to schema.json in the exporter's directory. Empty: not known. */
  belay_str schema;
} belay_export_args;

/* Writes files into a new directory that the host has opened. The host checksums the bytes that pass through "files"
 * and syncs them. It gives the directory its name when both calls have succeeded, and removes it after an error. `dir`
 * is valid for the call. All slots are [session].
 *   write  creates files in `dir`, at least one, and closes them. UNIMPLEMENTED: the format cannot express a part of
 *          the model; the message names node and operation. Mandatory.
 *   check  opens the files that write made in `dir`, which is now read-only, and compares them with the same args.
 *          DATA_LOSS, with file and place: they differ. Absent: the host compares nothing. */
typedef struct belay_exporter_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, const belay_export_args* args, belay_dir* dir, belay_status* status);
  int32_t (*check)(void* self, const belay_export_args* args, belay_dir* dir, belay_status* status);
} belay_exporter_api;

BELAY_C_END

#endif /* BELAY_ABI_EXPORTER_H_ */
