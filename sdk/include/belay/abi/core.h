/* SPDX-License-Identifier: Apache-2.0 */
/* The service "core".
 * Part of belay/abi.h, which states the rules for all parts. */
#ifndef BELAY_ABI_CORE_H_
#define BELAY_ABI_CORE_H_

#include "belay/abi/values.h"

BELAY_C_BEGIN

#define BELAY_LOG_DEBUG 10
#define BELAY_LOG_INFO 20
#define BELAY_LOG_WARNING 30
#define BELAY_LOG_ERROR 40

/* The purpose of a graph and of its session. A model answers an unknown mode with UNIMPLEMENTED. */
#define BELAY_MODE_TRAIN 1
#define BELAY_MODE_EVAL 2
#define BELAY_MODE_PREDICT 3

/* "core": log, clock, run directory, place in the run. All slots are [any]. */
typedef struct belay_core_api {
  uint32_t struct_size;
  uint32_t reserved;
  /* Writes one line. The host adds time, level and the instance's name, and escapes control characters. */
  void (*log)(belay_host* host, int32_t level, belay_str text);
  /* Returns 1 if the log shows lines of this level. Ask before you compose an expensive line. */
  int32_t (*log_enabled)(belay_host* host, int32_t level);
  /* The host's clocks in nanoseconds: monotonic since some start, and wall since 1970. Tests set both. */
  int64_t (*monotonic_ns)(belay_host* host);
  int64_t (*wall_ns)(belay_host* host); /* may jump, in either direction */
  /* Absolute path of the run directory; empty if the run has none. Valid until destroy returns. */
  belay_str (*run_directory)(belay_host* host);
  /* The instance's name from the manifest, else the plugin's name. It is unique among its kind in the run. Valid until
   * destroy returns. */
  belay_str (*instance_name)(belay_host* host);
  /* The run's seed ([run] seed), the same for all instances. Mix in a value that differs for each instance. */
  uint64_t (*seed)(belay_host* host);
  /* interactive returns 1 if the user watches a terminal. Then status_line shows `text` in place. The host redraws it
   * at most ten times a second. */
  int32_t (*interactive)(belay_host* host);
  void (*status_line)(belay_host* host, belay_str text);
  /* The purpose of this instance's session: BELAY_MODE_TRAIN, BELAY_MODE_EVAL or BELAY_MODE_PREDICT. It is the same
   * from create to destroy. 0: the instance belongs to no session, such as an input or saver that several sessions
   * share. */
  int32_t (*mode)(belay_host* host);
  /* The place of this process in the run, 0 <= rank < ranks. A run of one process has rank 0 and 1 rank. */
  int32_t (*rank)(belay_host* host);
  int32_t (*ranks)(belay_host* host);
  /* Returns 1 in the process that writes checkpoints and events: rank 0. */
  int32_t (*is_chief)(belay_host* host);
  /* Returns 1 when the instance must not wait any longer. Either a signal or the program asked the run to stop, or the
   * session that an input feeds is stopping. Ask during waits in create, next, write and read. "belay.interrupt.1"
   * (instance.h) wakes a wait that cannot ask. An input reads 0 again when its next session begins. */
  int32_t (*stopping)(belay_host* host);
  /* The number of this start of the run in its directory. A new run has 1, and each later start adds one, also if the
   * previous start left no checkpoint. It is the same from create to destroy. It is 1 without a run directory, and in a
   * process that only evaluates or predicts. A recovery inside the process is not a new start. */
  int64_t (*attempt)(belay_host* host);
  /* Marks disk work that the plugin does by itself and that may wait (open, write, fsync, rename). Call it with
   * `begins` 1 before the work and 0 after it, on the same thread. In between the run waits without limit:
   * no_progress_secs does not end it. The services files, events and checkpoint mark their own work. */
  void (*waits_for_disk)(belay_host* host, int32_t begins);
} belay_core_api;

BELAY_C_END

#endif /* BELAY_ABI_CORE_H_ */
