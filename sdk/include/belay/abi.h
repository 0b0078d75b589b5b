/* SPDX-License-Identifier: Apache-2.0 */
/* clang-format off */
/* The C boundary between the host and its plugins. Nothing else crosses it.
 *
 * This header is C11 and C++; the C++ headers beside it (plugin.h is the one include that an author needs) are the API
 * that people program against. Read this one to write a plugin in another language, or to change the host.
 *
 * Shape
 *   A library exports one const data object, `belay_module_v0` (belay_module below). It points at a note, JSON that
 *   describes every plugin of the library. The note is also an ELF note of the file, so that the host can list, describe
 *   and check plugins without running any of their code. Per plugin the module points at a table of callbacks.
 *   A library imports nothing from the host: the services of the host are tables too, which a plugin asks for by
 *   name (belay_host_api.service).
 *
 * Tables
 *   A table is a uint32_t struct_size, a reserved uint32_t, then function pointers only. struct_size is the end of the
 *   last slot that its writer knew. The reader copies the table once over a table of stubs, whole slots only, and takes a
 *   stub for a null slot; so no call site tests for null. Tables grow at their end and only there.
 *
 * Structs
 *   Two kinds cross. Value types go by value, in arrays or behind a pointer, carry no size and do not change within a
 *   major version: belay_str, belay_status, belay_output, belay_tensor, belay_value, belay_named_value,
 *   belay_named_output, belay_feed.
 *   Every other struct is sized: it crosses by pointer, never in an array, and begins with uint32_t struct_size and
 *   uint32_t flags. The owner of its memory sets struct_size to what it was compiled with before the call, in C by
 *   BELAY_INIT, which also zeroes the rest. Neither side reads or writes beyond struct_size; a field beyond it counts as
 *   0. So the callee fills the fields of a struct of the caller's one by one: who zeroes it or copies another over it
 *   loses struct_size, and is refused. Flags that a side does not know are refused, not ignored; the host sets only
 *   those that the module's abi_minor has. Structs grow at their end and only there.
 *
 * Calls
 *   Every callback that can fail returns an int32_t code (BELAY_OK or one of the codes below) and writes its message into
 *   the belay_status that the caller owns. No exception passes through a slot in either direction. `destroy` cannot fail.
 *   A slot without a status cannot fail; where 0 or null means that something is absent, its comment says so. What a side
 *   calls in a slot that the other one does not have does nothing and fails with UNIMPLEMENTED, or returns 0 where it has no
 *   status. So a slot without a status that is appended later may mean by 0 nothing but "there is none, or I cannot say".
 *
 * Codes that steer
 *   Most codes end the run with an error. These steer it instead, from the callbacks that stand here and from no other:
 *     OUT_OF_RANGE          next of an input: the input has ended, and so does the run, without an error
 *     STOP                  next of an input, before_run and after_run of a hook: the run ends without an error
 *     SKIP                  before_save of a hook: this checkpoint is not written, and the run continues
 *     ABORTED, UNAVAILABLE  all [session] callbacks while a session is made or runs, next of an input, run of an
 *                           operation, what a cluster is called for: the session is made anew from the newest checkpoint
 *     DIVERGED              every callback: the run ends with an error of its own, status 4
 *   From anywhere else OUT_OF_RANGE, STOP and SKIP are errors as others are, FAILED_PRECONDITION, with a message that says
 *   so: else a mistake, or a code of the host's that a plugin hands on, would end a training as if it was done. A service
 *   that is asked for an index that is not there answers INVALID_ARGUMENT.
 *
 * Ownership
 *   Who allocates, frees. A view (belay_str, belay_tensor) given to a call is valid for that call. What `before_run`
 *   returns in belay_run_args must stay valid until the next call on that instance. Tensors that leave a plugin (a batch,
 *   a restored variable) lie in memory that the host provides.
 *   A pointer that a call returns is valid as long as its slot's comment says; a handle of the host's as long as values.h
 *   says. A belay_host* is a number, not an address, and valid until the process ends: calls with one after its instance's
 *   destroy (a thread that the plugin forgot) are dropped, with one warning; those with a status fail with
 *   FAILED_PRECONDITION.
 *
 * Threads
 *   [main]    the thread that builds and closes the session; never two at once.
 *   [session] one call at a time per instance, with a happens-before between calls; usually the main thread.
 *   [save]    one call at a time per instance, on any thread, possibly beside the instance's [session] calls of others and
 *             beside the steps of the session.
 *   [input]   one call at a time per input instance: on the main thread before the first batch, then on a feeding thread.
 *   [any]     any thread, also several at once.
 *   All callbacks of one hook instance are [session]; two instances may always be called at the same time.
 *
 * Floating point
 *   run of an operation, and the bodies that it hands to op.parallel, are called in the host's mode, in which denormals
 *   are zero. Every other callback is called in the mode of the thread that opened the session. A callback that changes
 *   the mode finds it put back, with one warning. The mode is in a checkpoint's fingerprint.
 *
 * Parts, each a header that can be included by itself; this one includes them all
 *   values      versions, codes, value types, handles of the host's objects
 *   instance    what the tables of all kinds begin with, kinds, extensions
 *   core graph session events checkpoint     services of the host for every kind
 *   hook saver init_fn model input op optimizer exporter cluster     the kinds, each beside the service that only it uses
 *   module      what a library exports
 *
 * Versions
 *   While the major is 0 the minor must match exactly. From 1.0 on: equal major, and the minor that the plugin needs is
 *   not above the host's.
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
