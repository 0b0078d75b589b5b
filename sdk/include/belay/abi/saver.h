/* SPDX-License-Identifier: Apache-2.0 */
/* Savers, and the services "files" and "saver" that they work with.
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_SAVER_H_
#define BELAY_ABI_SAVER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* "files": files inside a directory that the host has opened. Names have no '/'. In a saver's write and read [save];
 * exporters get one too, [session]. */
typedef struct belay_files_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* A new file to write from its start. ALREADY_EXISTS where the name is taken. */
  int32_t (*create)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* A file to read. NOT_FOUND where there is none of that name. */
  int32_t (*open)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* Appends all of it, or fails: RESOURCE_EXHAUSTED where the disk is full. The bytes are the caller's again when it
   * returns. */
  int32_t (*write)(belay_file* file, const void* data, uint64_t size, belay_status* status);
  /* In bytes. */
  int32_t (*size)(belay_file* file, uint64_t* size, belay_status* status);
  /* Reads exactly `size` bytes; a file that ends before is DATA_LOSS. */
  int32_t (*read_at)(belay_file* file, uint64_t offset, void* data, uint64_t size, belay_status* status);
  /* Closes and frees, also when it fails. */
  int32_t (*close)(belay_file* file, belay_status* status);
} belay_files_api;

/* "saver": the tensors that a saver writes or reads, and those that an exporter writes. In a saver's write and read
 * [save], else [session].
 *
 * Every tensor here is a whole one. There is room for slices, the parts of a variable that several ranks share,
 * without a change of what is here: `get` and `found` go on meaning whole tensors, and two slots are appended,
 * `get_slice` and `found_slice`, with a sized struct that says which part it is (dims of the whole, and offset and
 * length per dimension). Several slices then have one name and `count` counts each; `get` of one is
 * FAILED_PRECONDITION, so that a saver which does not know of slices fails by name instead of writing a part as the
 * whole. */
typedef struct belay_saver_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writing: tensor i of count, in the order to keep. */
  uint64_t (*count)(belay_tensors* tensors);
  /* Name and value of tensor i, read-only; both are valid until write returns. */
  int32_t (*get)(belay_tensors* tensors, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* Reading: the saver announces each tensor that the directory holds; `data` becomes the memory to fill, or null where
   * the host does not want this one. */
  int32_t (*found)(belay_tensors* tensors, belay_str name, int32_t dtype, int32_t rank, const int64_t* dims, void** data,
                   belay_status* status);
} belay_saver_service;

/* A codec for named tensors in a directory that the host has opened; the host checksums, syncs and renames what write
 * left there. write and read are mandatory, and never overlap on one instance.
 *   write  [save]: the tensors are a snapshot, valid until it returns whatever the session does meanwhile. They are to be
 *          read: a checkpoint after whose write one of them has changed is refused.
 *   read   [save]: of a restore, and of the host's look at what write has just left. The first checkpoint of a run, and
 *          each 16th after it, is read back before it counts, and refused if it is not what write was given. */
typedef struct belay_saver_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
  int32_t (*read)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
} belay_saver_api;

BELAY_C_END

#endif /* BELAY_ABI_SAVER_H_ */
