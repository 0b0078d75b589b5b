/* SPDX-License-Identifier: Apache-2.0 */
/* The start of every kind's table, and the first table that an instance gets.
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_INSTANCE_H_
#define BELAY_ABI_INSTANCE_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

/* The first table that an instance gets. service returns the host's table of this name, or null if the host has none.
 * The pointer is valid as long as the instance. [any] */
typedef struct belay_host_api {
  uint32_t struct_size;
  uint32_t reserved;
  const void* (*service)(belay_host* host, belay_str name);
} belay_host_api;

#define BELAY_KIND_HOOK 1
#define BELAY_KIND_SAVER 2
#define BELAY_KIND_INIT_FN 3
#define BELAY_KIND_MODEL 4
#define BELAY_KIND_INPUT 5
#define BELAY_KIND_CLUSTER 6
#define BELAY_KIND_EXPORTER 7
#define BELAY_KIND_OP 8
#define BELAY_KIND_OPTIMIZER 9
#define BELAY_KIND_SCHEDULE 10

/* The first three slots of every kind's table. A create that fails makes no instance: it frees all that it made. The
 * host neither uses nor destroys a value that it left in *self. `options` has the options that the manifest sets, with
 * nested tables flattened ("layers.0.units"). The host has checked them against the note. The plugin applies its own
 * defaults. */
#define BELAY_INSTANCE_SLOTS                                                                                         \
  int32_t (*create)(const belay_host_api* api, belay_host* host, const belay_named_value* options, uint64_t n_options, \
                    void** self, belay_status* status);                                                               \
  void (*destroy)(void* self);                                                                                        \
  const void* (*extension)(void* self, belay_str name)

/* extension returns a table of further callbacks of this instance, or null if it has none of this name. The table is
 * const, begins with struct_size and reserved like every table, and lives as long as the library. Its callbacks take
 * the same self. The host asks after create; the answer is the same each time. Names are "belay.NAME.VERSION" for those
 * of this header, "vendor.name.version" for others. An absent slot: no extensions. [any] */

/* "belay.interrupt.1", of inputs and savers: wakes an instance that waits (for a network, a lock, a pipe), because the
 * run stops. If a callback is in progress on another thread, it returns soon, with CANCELLED or with its result so far.
 * No callback need be in progress. After the call an input may refuse each next until a seek. A seek always comes
 * before the input is used again. A saver forgets the call when its next write or read begins. The call itself must not
 * wait. [any] */
#define BELAY_INTERRUPT_EXTENSION "belay.interrupt.1"
typedef struct belay_interrupt_api {
  uint32_t struct_size;
  uint32_t reserved;
  void (*interrupt)(void* self);
} belay_interrupt_api;

BELAY_C_END

#endif /* BELAY_ABI_INSTANCE_H_ */
