/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The C boundary between the host and its plugins. Nothing else crosses it.
 *
 * This header is C11 and C++. Plugin authors include plugin.h, the C++ API over this header. Read this header to write
 * a plugin in another language, or to change the host.
 *
 * Shape
 *   A library exports one const data object, `belay_module_v0` (belay_module below). The object points at a note: JSON
 *   that describes every plugin of the library. The note is also an ELF note of the file. So the host lists, describes
 *   and checks plugins without running their code. For each plugin the module points at a table of callbacks.
 *   A library imports nothing from the host. The services of the host are tables too; a plugin asks for them by name
 *   (belay_host_api.service).
 *
 * Tables
 *   A table is a uint32_t struct_size, a reserved uint32_t, then function pointers only. struct_size is the end of the
 *   last slot that its writer knew. The reader copies the table once over a table of stubs, and copies whole slots
 *   only. A stub takes the place of a null slot, so no call site tests for null. Tables grow only at their end.
 *
 * Structs
 *   Two kinds of struct cross. Value types cross by value, in arrays or by pointer. They carry no size and do not
 *   change within a major version. They are belay_str, belay_status, belay_output, belay_tensor, belay_value,
 *   belay_named_value, belay_named_output and belay_feed.
 *   Every other struct is sized: it crosses by pointer and never in an array. It begins with uint32_t struct_size and
 *   uint32_t flags. Before the call, the owner of the memory sets struct_size to the size that it was compiled with. In
 *   C, BELAY_INIT does this and zeroes the rest. Neither side reads or writes beyond struct_size; a field beyond it
 *   counts as 0. So the callee fills the caller's struct field by field. A callee that zeroes the struct, or copies
 *   another struct over it, loses struct_size and is refused. A side refuses flags that it does not know. The host sets
 *   only the flags that the module's abi_minor has. Structs grow only at their end.
 *
 * Calls
 *   A callback that can fail returns an int32_t code: BELAY_OK or one of the codes below. It writes its message into
 *   the belay_status, which the caller owns. No exception passes through a slot in either direction. `destroy` cannot
 *   fail.
 *   A slot without a status cannot fail. If its 0 or null means that something is absent, its comment states so. A call
 *   of a slot that the other side lacks does nothing. It fails with UNIMPLEMENTED, or returns 0 if it has no status. So
 *   a slot without a status that is appended later can use 0 only for "none, or not known".
 *
 * Codes that steer
 *   Most codes end the run with an error. The codes below steer the run instead, but only from the callbacks in this
 *   list:
 *     OUT_OF_RANGE          next of an input: the input has ended, and so does the run, without an error
 *     STOP                  next of an input, before_run and after_run of a hook: the run ends without an error
 *     SKIP                  before_save of a hook: this checkpoint is not written, and the run continues
 *     ABORTED, UNAVAILABLE  [session] callbacks while a session is made or runs, next of an input, run of an operation,
 *                           cluster calls: the session is made again from the newest checkpoint
 *     DIVERGED              every callback: the run ends with an error that has exit status 4
 *   From any other callback, OUT_OF_RANGE, STOP and SKIP are errors. The host reports FAILED_PRECONDITION with a
 *   message that explains it. Otherwise a mistake would end a training as if it was complete. So would a code of the
 *   host that a plugin passes on. A service answers an index out of range with INVALID_ARGUMENT.
 *
 * Ownership
 *   The side that allocates also frees. A view (belay_str, belay_tensor) that is passed to a call is valid for the
 *   call. The memory that `before_run` returns in belay_run_args must stay valid until the instance's next call.
 *   Tensors that leave a plugin (a batch, a restored variable) are in memory that the host provides.
 *   The comment of a slot states how long a returned pointer is valid; values.h states it for handles of the host. A
 *   belay_host* is a number, not an address, and is valid until the process ends. A forgotten thread of a plugin may
 *   call after its instance's destroy. The host drops such calls with one warning. Calls with a status fail with
 *   FAILED_PRECONDITION.
 *
 * Threads
 *   [main]    the thread that builds and closes the session; never two at once.
 *   [session] one call at a time per instance, with a happens-before between calls; usually the main thread.
 *   [save]    one call at a time per instance, on any thread. It may run at the same time as steps of the session and
 *             as [session] calls of other instances.
 *   [input]   one call at a time per input instance: on the main thread before the first batch, then on a feeding
 *             thread.
 *   [any]     any thread, also several at once.
 *   All callbacks of one hook instance are [session]. Two instances may always be called at the same time.
 *
 * Floating point
 *   The host calls run of an operation, and the bodies of op.parallel, in its own mode: denormals are zero. It calls
 *   every other callback in the mode of the thread that opened the session. If a callback changes the mode, the host
 *   restores it and warns once. The mode is part of a checkpoint's fingerprint.
 *
 * Parts. Each part is a header that can be included alone; this header includes them all.
 *   values      versions, codes, value types, handles of the host's objects
 *   instance    the start of every kind's table, kinds, extensions
 *   core graph session events checkpoint     services of the host for every kind
 *   hook saver init_fn model input op optimizer exporter cluster     the kinds, each with the service that only it uses
 *   module      the object that a library exports
 *
 * Versions
 *   While the major is 0, the minor must match exactly. From 1.0 on, the major must be equal, and the plugin's minor
 *   must not exceed the host's.
 */
#ifndef BELAY_ABI_H_
#define BELAY_ABI_H_

#include "belay/abi/values.h"
#include "belay/abi/instance.h"
#include "belay/abi/core.h"
#include "belay/abi/graph.h"
#include "belay/abi/session.h"
#include "belay/abi/events.h"
#include "belay/abi/checkpoint.h"
#include "belay/abi/saver.h"
#include "belay/abi/hook.h"
#include "belay/abi/init_fn.h"
#include "belay/abi/model.h"
#include "belay/abi/input.h"
#include "belay/abi/op.h"
#include "belay/abi/optimizer.h"
#include "belay/abi/exporter.h"
#include "belay/abi/cluster.h"
#include "belay/abi/module.h"

#endif /* BELAY_ABI_H_ */
