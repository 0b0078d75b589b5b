/* SPDX-License-Identifier: Apache-2.0 */
/* The service "core".
 * Part of belay/abi.h, which says what holds for all parts. */
#ifndef BELAY_ABI_CORE_H_
#define BELAY_ABI_CORE_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

#define BELAY_LOG_DEBUG 10
#define BELAY_LOG_INFO 20
#define BELAY_LOG_WARNING 30
#define BELAY_LOG_ERROR 40

/* What a graph, and the session over it, is for. A model answers a mode that it does not know with UNIMPLEMENTED. */
#define BELAY_MODE_TRAIN 1
#define BELAY_MODE_EVAL 2
#define BELAY_MODE_PREDICT 3

/* "core": log, clock, run directory, the place in the run. All [any]. */
typedef struct belay_core_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* One line; the host adds time, level and the instance's name, and escapes control characters. */
  void (*log)(belay_host* host, int32_t level, belay_str text);
  /* 1 where a line of that level would be shown: ask before putting an expensive one together. */
  int32_t (*log_enabled)(belay_host* host, int32_t level);
  /* The host's clocks in nanoseconds: monotonic since some start, and wall since 1970. Tests drive them by hand. */
  int64_t (*monotonic_ns)(belay_host* host);
  int64_t (*wall_ns)(belay_host* host); /* may jump, in either direction */
  /* Absolute path of the run directory, or empty where the run has none. Valid until destroy returns. */
  belay_str (*run_directory)(belay_host* host);
  /* The instance's name, unique among its kind in the run: the manifest's, or the plugin's. Valid until destroy returns. */
  belay_str (*instance_name)(belay_host* host);
  /* The run's seed ([run] seed), the same for all instances: mix in something that is different for each of yours. */
  uint64_t (*seed)(belay_host* host);
  /* 1 if the user watches a terminal; then status_line shows `text` in place, redrawn at most ten times a second. */
  int32_t (*interactive)(belay_host* host);
  void (*status_line)(belay_host* host, belay_str text);
  /* What the session of this instance is for: BELAY_MODE_TRAIN, BELAY_MODE_EVAL or BELAY_MODE_PREDICT, the same from create
   * to destroy; 0: it belongs to no session (an input or a saver that several share). */
  int32_t (*mode)(belay_host* host);
  /* This process among those of the run, 0 <= rank < ranks. One process is 0 of 1. */
  int32_t (*rank)(belay_host* host);
  int32_t (*ranks)(belay_host* host);
  /* 1 in the process that writes checkpoints and events: rank 0. */
  int32_t (*is_chief)(belay_host* host);
  /* 1 when what the instance waits for is no longer wanted: the run was asked to stop (a signal, the program), or the
   * session that an input feeds is being stopped. For waits in create, next, write and read; "belay.interrupt.1" of
   * instance.h wakes one that cannot ask. An input finds 0 again when its next session begins. */
  int32_t (*stopping)(belay_host* host);
  /* Which start of the run in its directory this is: 1 for a new run, one more each time that it is gone on with,
   * whether the start before left a checkpoint or not; the same from create to destroy. 1 where there is no run
   * directory, and in a process that evaluates or predicts alone. A recovery inside the process is no new start. */
  int64_t (*attempt)(belay_host* host);
  /* Round what the plugin does by itself and may wait for a disk (open, write, fsync, rename): `begins` is 1 before it
   * and 0 after it, on the same thread. In between the run waits, however long that takes, and does not end for want of
   * progress (no_progress_secs). The services files, events and checkpoint do it by themselves. */
  void (*waits_for_disk)(belay_host* host, int32_t begins);
} belay_core_api;

BELAY_C_END

#endif /* BELAY_ABI_CORE_H_ */
