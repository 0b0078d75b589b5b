/* SPDX-License-Identifier: Apache-2.0 */
/* Savers, and their services "files" and "saver".
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_SAVER_H_
#define BELAY_ABI_SAVER_H_

#include "belay/abi/instance.h"

BELAY_C_BEGIN

/* "files": files inside a directory that the host has opened. Names have no '/'. In a saver's write and read the slots
 * are [save]. Exporters get this service too, as [session]. */
typedef struct belay_files_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Makes a new file and opens it for writing. ALREADY_EXISTS: the name is taken. */
  int32_t (*create)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* Opens a file for reading. NOT_FOUND: no file has this name. */
  int32_t (*open)(belay_dir* dir, belay_str name, belay_file** file, belay_status* status);
  /* Appends all the bytes, or fails. RESOURCE_EXHAUSTED: the disk is full. The caller may reuse the memory when the
   * call returns. */
  int32_t (*write)(belay_file* file, const void* data, uint64_t size, belay_status* status);
  /* Sets *size to the file's size in bytes. */
  int32_t (*size)(belay_file* file, uint64_t* size, belay_status* status);
  /* Reads exactly `size` bytes. DATA_LOSS: the file ends before. */
  int32_t (*read_at)(belay_file* file, uint64_t offset, void* data, uint64_t size, belay_status* status);
  /* Closes and frees the file, also when it fails. */
  int32_t (*close)(belay_file* file, belay_status* status);
} belay_files_api;

/* "saver": the tensors that a saver writes or reads, and those that an exporter writes. In a saver's write and read the
 * slots are [save], else [session].
 *
 * Every tensor here is a whole tensor. Slices (the parts of a variable that several ranks share) can be added later
 * without a change of these slots. `get` and `found` would keep their meaning. Two slots would be appended, `get_slice`
 * and `found_slice`, with a sized struct that locates the part. It has the dims of the whole, and offset and length per
 * dimension. Several slices would have one name, and `count` would count each. `get` of a slice would fail with
 * FAILED_PRECONDITION. So a saver that does not know slices fails with a name; it does not write a part as the
 * whole. */
typedef struct belay_saver_service {
  uint32_t struct_size;
  uint32_t reserved;
  /* When writing: the number of tensors. Write them in this order. */
  uint64_t (*count)(belay_tensors* tensors);
  /* Returns name and value of tensor i, 0 <= i < count; the value is read-only. Both are valid until write returns. */
  int32_t (*get)(belay_tensors* tensors, uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status);
  /* When reading: the saver announces each tensor in the directory. *data becomes the memory to fill, or null if the
   * host does not need this tensor. */
  int32_t (*found)(belay_tensors* tensors, belay_str name, int32_t dtype, int32_t rank, const int64_t* dims, void** data,
                   belay_status* status);
} belay_saver_service;

/* A codec for named tensors in a directory that the host has opened. The host checksums, syncs and renames the files
 * that write made. write and read are mandatory. They never overlap on one instance.
 *   write  [save]: the tensors are a snapshot. They are valid until the call returns, while the session continues.
 *          write must not change them: the host refuses a checkpoint if a tensor has changed after write.
 *   read   [save]: reads for a restore, or for the host's check of a checkpoint that write has just made. The host
 *          reads back the first checkpoint of a run, and every 16th after it. It refuses a checkpoint that differs from
 *          what write got. */
typedef struct belay_saver_api {
  uint32_t struct_size;
  uint32_t reserved;
  BELAY_INSTANCE_SLOTS;
  int32_t (*write)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
  int32_t (*read)(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status);
} belay_saver_api;

BELAY_C_END

#endif /* BELAY_ABI_SAVER_H_ */
