// SPDX-License-Identifier: Apache-2.0
// Exports plugins, with one line at the end of the source.
//
//   BELAY_MODULE("1.0.0", LossCeiling)            // version, then every plugin class of the library
//
//   class LossCeiling final : public belay::Hook {
//    public:
//     struct Options { double max = 10; };
//     static constexpr auto about = belay::about("loss_ceiling", "Stops the run when the loss rises above a limit",
//                                                belay::option("max", &Options::max, "largest allowed loss"));
//     explicit LossCeiling(const Options& options) : options_(options) {}
//     ...
//   };
//
// A plugin class derives from Hook, Saver, InitFn, Model, Input, Op, Optimizer, Schedule, Exporter or Cluster. It has a
// public `static constexpr auto about` (options.h), and usually a struct Options. Its constructor takes `const
// Options&` or nothing. Its callbacks are public, each the only member of its name, with the base's parameters. Any
// difference is the compiler's first error: a line that begins with "belay:" and states the fix (detail/check_class.h).
//
// A callback may throw. Only the code and the message of the exception cross the boundary (error.h).
//
// A program may use its own hook, with any constructor, without a library:
//
//   belay::HookHandle mine = belay::hook(api, host, std::make_unique<MyHook>(path));
#pragma once

#include <memory>
#include <utility>

#include "belay/cluster.h"
#include "belay/detail/exported.h"
#include "belay/detail/thunks.h"
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

// A plugin instance as the runtime takes it: its table and its object. It owns the object and calls the table's destroy
// in its destructor. A Handle with owned = false borrows: the maker destroys the object after the Handle. The library
// of the table must stay loaded as long as the Handle.
//
//   if (handle.table()->end != nullptr)                          // handle: a HookHandle
//     status.check(handle.table()->end(handle.self(), session, status));
template <class Api>
class Handle {
 public:
  // Makes an empty handle: it converts to false.
  Handle() noexcept = default;
  // Takes over `self`, which the table's create made, unless owned is false.
  Handle(const Api* table, void* self, bool owned = true) noexcept : table_(table), self_(self), owned_(owned) {}
  // Leaves the other handle empty.
  Handle(Handle&& o) noexcept
      : table_(o.table_), self_(std::exchange(o.self_, nullptr)), owned_(std::exchange(o.owned_, false)) {}
  // Swaps the two handles: the other one destroys the previous object.
  Handle& operator=(Handle&& o) noexcept {
    std::swap(table_, o.table_), std::swap(self_, o.self_), std::swap(owned_, o.owned_);
    return *this;
  }
  ~Handle() {
    if (owned_ && self_ != nullptr) table_->destroy(self_);
  }
  // True if it has an object.
  explicit operator bool() const noexcept { return self_ != nullptr; }
  // The table and the object, for calls of callbacks. Both are valid as long as the Handle; self() is null in an empty
  // one.
  const Api* table() const noexcept { return table_; }
  void* self() const noexcept { return self_; }

 private:
  const Api* table_ = nullptr;
  void* self_ = nullptr;
  bool owned_ = false;
};

// One alias for each kind of plugin.
using HookHandle = Handle<belay_hook_api>;
using SaverHandle = Handle<belay_saver_api>;
using InitFnHandle = Handle<belay_init_fn_api>;
using ModelHandle = Handle<belay_model_api>;
using InputHandle = Handle<belay_input_api>;
using OpHandle = Handle<belay_op_api>;
using OptimizerHandle = Handle<belay_optimizer_api>;
using ScheduleHandle = Handle<belay_schedule_api>;
using ExporterHandle = Handle<belay_exporter_api>;
using ClusterHandle = Handle<belay_cluster_api>;

// Makes a (table, self) pair of an object that the program made itself; the handle owns the object. `host` must outlive
// the handle. The runtime makes a host (runtime/loader/instance/host.h), and so does a test (testing/). T derives from
// Hook; it needs neither `about` nor Options.
template <class T>
HookHandle hook(const belay_host_api* api, belay_host* host, std::unique_ptr<T> object) {
  static_assert(std::is_base_of_v<Hook, T>);
  static constexpr belay_hook_api table = detail::hook_table<T>();
  auto instance = std::make_unique<detail::Instance<T>>(api, host);
  object->bind(&instance->host);
  instance->object = std::move(object);
  return HookHandle(&table, instance.release());
}

}  // namespace v0
}  // namespace belay

// The name of the module's symbol. belay_add_plugin sets it to belay_module_<name>, so one program can link several
// plugins. The exported symbol belay_module_v0 is then an alias.
#ifndef BELAY_MODULE_NAME
#define BELAY_MODULE_NAME belay_module_v0
#define BELAY_MODULE_ALIAS
#else
// Makes a string of a macro's value.
#define BELAY_MODULE_TEXT_(x) #x
#define BELAY_MODULE_TEXT(x) BELAY_MODULE_TEXT_(x)
#define BELAY_MODULE_ALIAS                                                                             \
  extern "C" __attribute__((visibility("default"), weak, alias(BELAY_MODULE_TEXT(BELAY_MODULE_NAME)))) \
  const belay_module belay_module_v0;
#endif

// Exports the plugin classes of a library. version: a string literal, shown by `belay plugins` and kept with a hook's
// state in checkpoints. Use it once per library, outside of all namespaces. The macro writes the note, which describes
// all classes, into the section ".note.belay". It defines the object that the host looks up. A wrong class or a second
// use does not compile.
#define BELAY_MODULE(version, ...)                                                                                \
  namespace {                                                                                                     \
  struct belay_module_is_there_twice_name_all_classes_in_one {};                                                  \
  static_assert(sizeof(#__VA_ARGS__) > 1 && std::is_convertible_v<__typeof__(version), std::string_view>,         \
                "belay: BELAY_MODULE takes a version, then the plugin classes: BELAY_MODULE(\"1.0.0\", MyHook)"); \
  using belay_module_classes = ::belay::detail::CheckedModule<__VA_ARGS__>;                                       \
  __attribute__((section(".note.belay"), used, aligned(4))) constexpr auto belay_note_bytes =                     \
      belay_module_classes::note<belay_module_classes::note_size(version)>(version);                              \
  }                                                                                                               \
  extern "C" __attribute__((visibility("default")))                                                               \
  const belay_module BELAY_MODULE_NAME = {BELAY_MODULE_MAGIC,                                                     \
                                          sizeof(belay_module),                                                   \
                                          BELAY_ABI_MAJOR,                                                        \
                                          BELAY_ABI_MINOR,                                                        \
                                          0,                                                                      \
                                          0,                                                                      \
                                          belay_note_bytes.text,                                                  \
                                          belay_note_bytes.text_size,                                             \
                                          belay_module_classes::plugins,                                          \
                                          sizeof(belay_module_classes::plugins) / sizeof(const belay_plugin*)};   \
  BELAY_MODULE_ALIAS
