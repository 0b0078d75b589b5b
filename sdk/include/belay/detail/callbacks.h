// SPDX-License-Identifier: Apache-2.0
// Finds the callbacks of a plugin class. The compiler reports a callback that would never be called: it is private,
// another member has its name, or its parameters are not the base's.
#pragma once

#include <type_traits>
#include <vector>

#include "belay/cluster.h"
#include "belay/exporter.h"
#include "belay/hook.h"
#include "belay/init_fn.h"
#include "belay/input.h"
#include "belay/model.h"
#include "belay/op.h"
#include "belay/optimizer.h"
#include "belay/saver.h"
#include "belay/schedule.h"

namespace belay {
inline namespace v0 {
namespace detail {

// The type of a member that cannot be named from outside.
struct Hidden;

template <class Member, class F>
inline constexpr bool has_signature = false;
template <class C, class F>
inline constexpr bool has_signature<F C::*, F> = true;

#define BELAY_SPACED_
#define BELAY_SPACED_const " const"
// overrides_BASE_CALLBACK<T>(): true if T, or a base of it below BASE, has its own version of the callback. The pointer
// is used in a function's declaration. In a partial specialization clang 14 would forget that a member is protected.
#define BELAY_CALLBACK(base, callback, result, qualifiers, ...)                                              \
  template <class T>                                                                                         \
  decltype(&T::callback) pointer_to_##base##_##callback(int);                                                \
  template <class T>                                                                                         \
  Hidden* pointer_to_##base##_##callback(...);                                                               \
  template <class T>                                                                                         \
  constexpr bool overrides_##base##_##callback() {                                                           \
    using Pointer = decltype(pointer_to_##base##_##callback<T>(0));                                          \
    constexpr bool hidden = std::is_same_v<Pointer, Hidden*>;                                                \
    static_assert(!hidden, "belay: " #callback                                                               \
                           " is private, protected or shares its name with another member, so the "          \
                           "host cannot call it: declare it once, below `public:`");                         \
    constexpr bool fits = has_signature<Pointer, result(__VA_ARGS__) qualifiers> ||                          \
                          has_signature<Pointer, result(__VA_ARGS__) qualifiers noexcept>;                   \
    static_assert(hidden || fits,                                                                            \
                  "belay: " #callback " would never be called: declare it as in belay::" #base ", `" #result \
                  " " #callback "(" #__VA_ARGS__ ")" BELAY_SPACED_##qualifiers " override`");                \
    return fits && !std::is_same_v<Pointer, result (base::*)(__VA_ARGS__) qualifiers>;                       \
  }
// A callback that every class of the kind must have.
#define BELAY_NEEDED_CALLBACK(base, callback, result, qualifiers, ...)                                            \
  BELAY_CALLBACK(base, callback, result, qualifiers, __VA_ARGS__)                                                 \
  template <class T>                                                                                              \
  constexpr bool has_##base##_##callback() {                                                                      \
    constexpr bool missing =                                                                                      \
        std::is_same_v<decltype(pointer_to_##base##_##callback<T>(0)), result (base::*)(__VA_ARGS__) qualifiers>; \
    static_assert(!missing, "belay: a class that derives from belay::" #base " has a `" #result " " #callback     \
                            "(" #__VA_ARGS__ ")" BELAY_SPACED_##qualifiers " override`; this one lacks it");      \
    return overrides_##base##_##callback<T>();                                                                    \
  }

BELAY_CALLBACK(Hook, begin, void, , Graph&)
BELAY_CALLBACK(Hook, after_create_session, void, , Session&)
BELAY_CALLBACK(Hook, before_run, RunArgs, , RunContext&)
BELAY_CALLBACK(Hook, after_run, void, , RunContext&, const RunValues&)
BELAY_CALLBACK(Hook, end, void, , Session&)
BELAY_CALLBACK(Hook, before_save, void, , Session&, std::int64_t)
BELAY_CALLBACK(Hook, after_save, bool, , Session&, const Saved&)
BELAY_CALLBACK(Hook, on_error, void, , const Error&)
BELAY_CALLBACK(Hook, save_state, void, const, StateWriter&)
BELAY_CALLBACK(Hook, load_state, void, , const StateReader&)
BELAY_NEEDED_CALLBACK(Saver, write, void, , Directory&, const TensorSource&)
BELAY_NEEDED_CALLBACK(Saver, read, void, , Directory&, TensorSink&)
BELAY_CALLBACK(Saver, interrupt, void, , )
BELAY_NEEDED_CALLBACK(InitFn, run, void, , Graph&, Session&)
BELAY_NEEDED_CALLBACK(Model, build, void, , ModelContext&)
BELAY_CALLBACK(Model, initial_value, bool, , std::string_view, const TensorView&)
BELAY_NEEDED_CALLBACK(Input, spec, void, , InputSpec&)
BELAY_NEEDED_CALLBACK(Input, open, void, , const OpenArgs&)
BELAY_NEEDED_CALLBACK(Input, next, bool, , Batch&, Position&)
BELAY_NEEDED_CALLBACK(Input, seek, void, , const Position&)
BELAY_CALLBACK(Input, interrupt, void, , )
BELAY_CALLBACK(Input, size, std::int64_t, const, )
BELAY_NEEDED_CALLBACK(Op, infer, void, const, OpShapes&)
BELAY_CALLBACK(Op, prepare, void, , const OpSetup&)
BELAY_NEEDED_CALLBACK(Op, run, void, , OpRun&)
BELAY_CALLBACK(Op, gradient, void, const, OpGradient&)
BELAY_CALLBACK(Optimizer, create_slots, void, , const OptimizerContext&)
BELAY_CALLBACK(Optimizer, prepare, void, , const OptimizerContext&)
BELAY_NEEDED_CALLBACK(Optimizer, apply, Output, , const OptimizerContext&, const Update&)
BELAY_CALLBACK(Optimizer, finish, std::vector<Output>, , const OptimizerContext&, const std::vector<Output>&)
BELAY_CALLBACK(Optimizer, takes_sparse, bool, const, )
BELAY_CALLBACK(Optimizer, apply_sparse, Output, , const OptimizerContext&, const SparseUpdate&)
BELAY_NEEDED_CALLBACK(Schedule, build, Output, , const ScheduleContext&)
BELAY_NEEDED_CALLBACK(Exporter, write, void, , const ExportContext&, Directory&)
BELAY_CALLBACK(Exporter, check, void, , const ExportContext&, const Directory&)
BELAY_NEEDED_CALLBACK(Cluster, open, ClusterPlace, , const ClusterArgs&)
BELAY_CALLBACK(Cluster, close, void, , )
BELAY_CALLBACK(Cluster, abort, void, , )
BELAY_NEEDED_CALLBACK(Cluster, barrier, void, , const Collective&)
BELAY_NEEDED_CALLBACK(Cluster, broadcast, void, , const Collective&, const TensorView&)
BELAY_NEEDED_CALLBACK(Cluster, all_reduce, void, , const Collective&, const TensorView&)
BELAY_NEEDED_CALLBACK(Cluster, all_gather, void, , const Collective&, const TensorView&, const TensorView&)
BELAY_NEEDED_CALLBACK(Cluster, send, void, , const Collective&, const TensorView&)
BELAY_NEEDED_CALLBACK(Cluster, receive, void, , const Collective&, const TensorView&)
BELAY_NEEDED_CALLBACK(Cluster, split, Subgroup, , const Collective&, int)
#undef BELAY_SPACED_const
#undef BELAY_SPACED_
#undef BELAY_NEEDED_CALLBACK
#undef BELAY_CALLBACK

}  // namespace detail
}  // namespace v0
}  // namespace belay
