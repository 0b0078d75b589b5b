// SPDX-License-Identifier: Apache-2.0
// The callbacks of a table, for a plugin class in C++. Each finds the object, makes the arguments of its C++ method,
// and turns an exception into a code and a message. So no exception leaves a callback.
#pragma once

#include <memory>
#include <vector>

#include "belay/detail/check_class.h"
#include "belay/detail/cluster_thunks.h"
#include "belay/detail/op_thunks.h"
#include "belay/detail/raw_position.h"
#include "belay/detail/sized.h"
#include "belay/detail/tables.h"
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

// The instance that `self` points at.
template <class T>
struct Instance {
  Instance(const belay_host_api* api, belay_host* raw) : host(api, raw) {}
  OptionStorage storage;
  Host host;
  std::unique_ptr<T> object;
  RunArgs args;                    // hooks: the result of before_run, alive until the next call
  std::vector<belay_output> more;  // optimizers: the result of finish
};

// `static const void* extension(std::string_view name) noexcept` in a plugin class returns its extensions (abi.h), by
// name.
template <class T, class = void>
struct has_extensions : std::false_type {};
template <class T>
struct has_extensions<T, std::void_t<decltype(T::extension(std::string_view{}))>> : std::true_type {};

template <class T>
constexpr bool overrides_interrupt() {
  if constexpr (kind_of<T>() == BELAY_KIND_INPUT) return overrides_Input_interrupt<T>();
  if constexpr (kind_of<T>() == BELAY_KIND_SAVER) return overrides_Saver_interrupt<T>();
  return false;
}

template <class T>
struct Thunks {
  using I = Instance<T>;
  static I& instance(void* self) noexcept { return *static_cast<I*>(self); }
  static T& object(void* self) noexcept { return *instance(self).object; }
  static const Services* services(void* self) noexcept { return &instance(self).host.services(); }

  static std::int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value* values,
                             std::uint64_t n, void** self, belay_status* status) noexcept {
    return guard(status, [&] {
      auto made = std::make_unique<I>(api, host);
      const ConstructionScope constructing(&made->host);
      using Options = typename OptionsOf<T>::type;
      if constexpr (std::is_constructible_v<T, const Options&>) {
        const Options options =
            parse_options<Options>(T::about, kind_name(kind_of<T>()).data(), values, n, made->storage);
        made->object = std::make_unique<T>(options);
      } else {
        parse_options<Options>(T::about, kind_name(kind_of<T>()).data(), values, n, made->storage);
        made->object = std::make_unique<T>();
      }
      *self = made.release();
    });
  }
  static void destroy(void* self) noexcept {
    try {
      delete static_cast<I*>(self);
    } catch (...) {  // a destructor throws: it cannot be handled, and no exception may pass
    }
  }

  // Returns the class's own extensions, then those that follow from its overrides.
  static void interrupt(void* self) noexcept {
    if constexpr (overrides_interrupt<T>()) {
      try {
        object(self).interrupt();
      } catch (...) {  // the callback continues to wait; no exception may pass
      }
    }
  }
  static const void* extension(void*, belay_str name) noexcept {
    static constexpr belay_interrupt_api kInterrupt{sizeof(belay_interrupt_api), 0, &Thunks::interrupt};
    if (overrides_interrupt<T>() && view(name) == BELAY_INTERRUPT_EXTENSION) return &kInterrupt;
    if constexpr (has_extensions<T>::value) return T::extension(view(name));
    return nullptr;
  }

  // Callbacks of a hook.
  static std::int32_t begin(void* self, belay_graph* graph, belay_status* status) noexcept {
    return guard(status, [&] {
      Graph g(&services(self)->graph, graph);
      object(self).begin(g);
    });
  }
  static std::int32_t after_create_session(void* self, belay_session* session, belay_status* status) noexcept {
    return guard(status, [&] {
      Session s(services(self), session);
      object(self).after_create_session(s);
    });
  }
  // The usual call. The rare cases are in another function, so this one saves no registers for them.
  static std::int32_t before_run(void* self, belay_run* run, belay_run_args* args, belay_status* status) noexcept {
    if (!is_whole(args) || instance(self).args.has_extras()) return before_run_slowly(self, run, args, status);
    return guard(status, [&] {
      before_run(self, run);
      instance(self).args.write(*args);  // field by field: a copy of the whole would wait for the stores that it reads
    });
  }
  __attribute__((noinline)) static std::int32_t before_run_slowly(void* self, belay_run* run, belay_run_args* args,
                                                                  belay_status* status) noexcept {
    return guard(status, [&] {
      before_run(self, run);
      fill_sized(args, instance(self).args.raw());
    });
  }
  static void before_run(void* self, belay_run* run) {
    I& i = instance(self);
    RunContext context(&i.host.services(), run);
    i.args.~RunArgs();
    try {
      new (&i.args) RunArgs(i.object->before_run(context));
    } catch (...) {
      new (&i.args) RunArgs();
      throw;
    }
  }
  static std::int32_t after_run(void* self, belay_run* run, const belay_run_values* values,
                                belay_status* status) noexcept {
    if (!is_whole(values)) return after_run_other_size(self, run, values, status);
    return guard(status, [&] { after_run(self, run, *values); });
  }
  static void after_run(void* self, belay_run* run, const belay_run_values& values) {
    I& i = instance(self);
    RunContext context(&i.host.services(), run);
    i.object->after_run(context, RunValues(values.results, i.args.fetches(), values.n_results, values.options));
  }
  // A separate function, so the usual call needs no room for a copy.
  __attribute__((noinline)) static std::int32_t after_run_other_size(void* self, belay_run* run,
                                                                     const belay_run_values* values,
                                                                     belay_status* status) noexcept {
    return guard(status, [&] {
      belay_run_values room;
      after_run(self, run, read_sized(values, room));
    });
  }
  static std::int32_t end(void* self, belay_session* session, belay_status* status) noexcept {
    return guard(status, [&] {
      Session s(services(self), session);
      object(self).end(s);
    });
  }
  static std::int32_t before_save(void* self, belay_session* session, std::int64_t step,
                                  belay_status* status) noexcept {
    return guard(status, [&] {
      Session s(services(self), session);
      object(self).before_save(s, step);
    });
  }
  static std::int32_t after_save(void* self, belay_session* session, belay_saved* saved,
                                 belay_status* status) noexcept {
    return guard(status, [&] {
      Session s(services(self), session);
      belay_saved room;
      belay_saved ours = read_sized(static_cast<const belay_saved*>(saved), room);
      ours.stop = object(self).after_save(s, Saved{ours.step, view(ours.path)}) ? 1 : 0;
      fill_sized(saved, ours);
    });
  }
  static std::int32_t on_error(void* self, std::int32_t code, belay_str message, belay_status* status) noexcept {
    return guard(status, [&] { object(self).on_error(Error(static_cast<Code>(code), std::string(view(message)))); });
  }
  static std::int32_t save_state(void* self, belay_state* state, belay_status* status) noexcept {
    return guard(status, [&] {
      StateWriter w(&services(self)->state, state);
      object(self).save_state(w);
    });
  }
  static std::int32_t load_state(void* self, belay_state* state, belay_status* status) noexcept {
    return guard(status, [&] {
      const StateReader r(&services(self)->state, state);
      object(self).load_state(r);
    });
  }

  // Callbacks of a saver.
  static std::int32_t write(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status) noexcept {
    return guard(status, [&] {
      Directory d(&services(self)->files, dir);
      object(self).write(d, TensorSource(&services(self)->saver, tensors));
    });
  }
  static std::int32_t read(void* self, belay_dir* dir, belay_tensors* tensors, belay_status* status) noexcept {
    return guard(status, [&] {
      Directory d(&services(self)->files, dir);
      TensorSink sink(&services(self)->saver, tensors);
      object(self).read(d, sink);
    });
  }

  // Callbacks of an init function.
  static std::int32_t run(void* self, belay_graph* graph, belay_session* session, belay_status* status) noexcept {
    return guard(status, [&] {
      Graph g(&services(self)->graph, graph);
      Session s(services(self), session);
      object(self).run(g, s);
    });
  }

  // Callbacks of a model.
  static std::int32_t build(void* self, const belay_model_args* args, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_model_args room;
      const belay_model_args& a = read_sized(args, room);
      if (a.mode < BELAY_MODE_TRAIN || a.mode > BELAY_MODE_PREDICT)
        fail(Code::kUnimplemented, "the model knows the modes 1 (training), 2 (evaluation) and 3 (prediction), not " +
                                       std::to_string(a.mode));
      ModelContext context(services(self), a);
      object(self).build(context);
    });
  }
  static std::int32_t initial_value(void* self, belay_str variable, const belay_tensor* value, std::int32_t* given,
                                    belay_status* status) noexcept {
    return guard(status, [&] { *given = object(self).initial_value(view(variable), TensorView(*value)) ? 1 : 0; });
  }

  // Callbacks of an input.
  static std::int32_t spec(void* self, belay_input_spec* spec, belay_status* status) noexcept {
    return guard(status, [&] {
      InputSpec s(&services(self)->input, spec);
      object(self).spec(s);
    });
  }
  static std::int32_t open(void* self, std::int64_t shard, std::int64_t shards, std::uint64_t seed,
                           belay_status* status) noexcept {
    return guard(status, [&] { object(self).open(OpenArgs{shard, shards, seed}); });
  }
  static std::int32_t next(void* self, belay_batch* batch, belay_position* position, belay_status* status) noexcept {
    std::int32_t end = BELAY_OK;
    const std::int32_t code = guard(status, [&] {
      Batch b(&services(self)->input, batch);
      Position p;
      if (object(self).next(b, p)) {
        give_position(p, position);
      } else {
        end = report(status, BELAY_OUT_OF_RANGE, "end of input");
      }
    });
    return code == BELAY_OK ? end : code;
  }
  static std::int32_t seek(void* self, const belay_position* position, belay_status* status) noexcept {
    return guard(status, [&] { object(self).seek(taken_position(position)); });
  }
  static std::int32_t size(void* self, std::int64_t* examples, belay_status* status) noexcept {
    return guard(status, [&] { *examples = object(self).size(); });
  }

  // Callbacks of an optimizer.
  static std::int32_t create_slots(void* self, const belay_optimizer_args* args, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_optimizer_args room;
      const OptimizerContext context(services(self), read_sized(args, room));
      object(self).create_slots(context);
    });
  }
  static std::int32_t prepare(void* self, const belay_optimizer_args* args, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_optimizer_args room;
      const OptimizerContext context(services(self), read_sized(args, room));
      object(self).prepare(context);
    });
  }
  static std::int32_t apply(void* self, const belay_optimizer_args* args, std::uint64_t i, belay_output* update,
                            belay_status* status) noexcept {
    return guard(status, [&] {
      belay_optimizer_args room;
      const OptimizerContext context(services(self), read_sized(args, room));
      *update = object(self).apply(context, context.update(static_cast<std::size_t>(i))).raw();
    });
  }
  static std::int32_t finish(void* self, const belay_optimizer_args* args, const belay_output* updates,
                             const belay_output** more, std::uint64_t* n_more, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_optimizer_args room;
      const OptimizerContext context(services(self), read_sized(args, room));
      I& i = instance(self);
      i.more.clear();
      for (const Output& o : i.object->finish(context, context.outputs(updates))) i.more.push_back(o.raw());
      *more = i.more.data();
      *n_more = i.more.size();
    });
  }
  static std::int32_t takes_sparse(void* self, std::int32_t* takes, belay_status* status) noexcept {
    return guard(status, [&] { *takes = object(self).takes_sparse() ? 1 : 0; });
  }
  static std::int32_t apply_sparse(void* self, const belay_optimizer_args* args, std::uint64_t i, belay_output indices,
                                   belay_output rows, belay_output* update, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_optimizer_args room;
      const OptimizerContext context(services(self), read_sized(args, room));
      const Update dense = context.update(static_cast<std::size_t>(i));
      const SparseUpdate sparse{dense.index, dense.variable, context.slices(indices, rows), dense.name};
      *update = object(self).apply_sparse(context, sparse).raw();
    });
  }

  // Callbacks of a schedule.
  static std::int32_t build_rate(void* self, const belay_schedule_args* args, belay_output* rate,
                                 belay_status* status) noexcept {
    return guard(status, [&] {
      belay_schedule_args room;
      const ScheduleContext context(services(self), read_sized(args, room, BELAY_SCHEDULE_RATE_IS_GIVEN));
      *rate = object(self).build(context).raw();
    });
  }

  // Callbacks of an exporter.
  static std::int32_t write_export(void* self, const belay_export_args* args, belay_dir* dir,
                                   belay_status* status) noexcept {
    return guard(status, [&] {
      belay_export_args room;
      const ExportContext context(services(self), read_sized(args, room));
      Directory directory(&services(self)->files, dir);
      object(self).write(context, directory);
    });
  }
  static std::int32_t check_export(void* self, const belay_export_args* args, belay_dir* dir,
                                   belay_status* status) noexcept {
    return guard(status, [&] {
      belay_export_args room;
      const ExportContext context(services(self), read_sized(args, room));
      object(self).check(context, Directory(&services(self)->files, dir));
    });
  }
};

// Null if the class has no extensions.
template <class T>
constexpr auto extension_slot() {
  using Slot = const void* (*)(void*, belay_str);
  constexpr bool any = has_extensions<T>::value || overrides_interrupt<T>();
  return any ? static_cast<Slot>(Thunks<T>::extension) : nullptr;
}

template <class T>
constexpr belay_hook_api hook_table() {
  using H = Thunks<T>;
  belay_hook_api t{};
  t.struct_size = sizeof(t);
  t.destroy = H::destroy;
  t.extension = extension_slot<T>();
  if constexpr (overrides_Hook_begin<T>()) t.begin = H::begin;
  if constexpr (overrides_Hook_after_create_session<T>()) t.after_create_session = H::after_create_session;
  if constexpr (overrides_Hook_before_run<T>()) t.before_run = H::before_run;
  if constexpr (overrides_Hook_after_run<T>()) t.after_run = H::after_run;
  if constexpr (overrides_Hook_end<T>()) t.end = H::end;
  if constexpr (overrides_Hook_before_save<T>()) t.before_save = H::before_save;
  if constexpr (overrides_Hook_after_save<T>()) t.after_save = H::after_save;
  if constexpr (overrides_Hook_on_error<T>()) t.on_error = H::on_error;
  if constexpr (overrides_Hook_save_state<T>()) t.save_state = H::save_state;
  if constexpr (overrides_Hook_load_state<T>()) t.load_state = H::load_state;
  return t;
}

template <class T>
constexpr belay_op_api op_table() {
  using H = OpThunks<T>;
  (void)overrides_Op_prepare<T>();  // always in the table: the base's does nothing
  belay_op_api t{};
  t.struct_size = sizeof(t);
  t.create = H::create;
  t.destroy = H::destroy;
  t.traits = H::traits;
  t.infer = H::infer;
  t.make_kernel = H::make_kernel;
  t.run = H::run;
  t.destroy_kernel = H::destroy_kernel;
  if constexpr (overrides_Op_gradient<T>()) t.gradient = H::gradient;
  return t;
}

template <class T>
constexpr belay_optimizer_api optimizer_table() {
  using H = Thunks<T>;
  belay_optimizer_api t{};
  t.struct_size = sizeof(t);
  t.create = H::create;
  t.destroy = H::destroy;
  t.extension = extension_slot<T>();
  if constexpr (overrides_Optimizer_create_slots<T>()) t.create_slots = H::create_slots;
  if constexpr (overrides_Optimizer_prepare<T>()) t.prepare = H::prepare;
  t.apply = H::apply;
  if constexpr (overrides_Optimizer_finish<T>()) t.finish = H::finish;
  constexpr bool sparse = overrides_Optimizer_takes_sparse<T>();
  static_assert(sparse == overrides_Optimizer_apply_sparse<T>(),
                "belay: an optimizer with a rule for sparse gradients has both takes_sparse and apply_sparse");
  if constexpr (sparse) t.takes_sparse = H::takes_sparse;
  if constexpr (sparse) t.apply_sparse = H::apply_sparse;
  return t;
}

template <class T>
constexpr auto make_table() {
  using H = Thunks<T>;
  constexpr int kind = kind_of<T>();
  if constexpr (kind == BELAY_KIND_HOOK) {
    belay_hook_api t = hook_table<T>();
    t.create = H::create;
    return t;
  } else if constexpr (kind == BELAY_KIND_SAVER) {
    return belay_saver_api{sizeof(belay_saver_api), 0, H::create, H::destroy, extension_slot<T>(), H::write, H::read};
  } else if constexpr (kind == BELAY_KIND_INIT_FN) {
    return belay_init_fn_api{sizeof(belay_init_fn_api), 0, H::create, H::destroy, extension_slot<T>(), H::run};
  } else if constexpr (kind == BELAY_KIND_MODEL) {
    return belay_model_api{sizeof(belay_model_api),
                           0,
                           H::create,
                           H::destroy,
                           extension_slot<T>(),
                           H::build,
                           overrides_Model_initial_value<T>() ? H::initial_value : nullptr};
  } else if constexpr (kind == BELAY_KIND_OP) {
    return op_table<T>();
  } else if constexpr (kind == BELAY_KIND_OPTIMIZER) {
    return optimizer_table<T>();
  } else if constexpr (kind == BELAY_KIND_SCHEDULE) {
    return belay_schedule_api{sizeof(belay_schedule_api), 0, H::create, H::destroy, extension_slot<T>(), H::build_rate};
  } else if constexpr (kind == BELAY_KIND_EXPORTER) {
    return belay_exporter_api{sizeof(belay_exporter_api),
                              0,
                              H::create,
                              H::destroy,
                              extension_slot<T>(),
                              H::write_export,
                              overrides_Exporter_check<T>() ? H::check_export : nullptr};
  } else if constexpr (kind == BELAY_KIND_CLUSTER) {
    return cluster_table<T>(extension_slot<T>());
  } else {
    return belay_input_api{sizeof(belay_input_api),
                           0,
                           H::create,
                           H::destroy,
                           extension_slot<T>(),
                           H::spec,
                           H::open,
                           H::next,
                           H::seek,
                           overrides_Input_size<T>() ? H::size : nullptr};
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace belay
