// SPDX-License-Identifier: Apache-2.0
// Exporting plugins: one line at the end of the source.
//
//   BELAY_MODULE("1.0.0", LossCeiling)            // version, then every plugin class of the library
//
// A plugin class derives from Hook, Saver, InitFn, Model, Input, Op, Optimizer, Schedule, Exporter or Cluster, has a
// `static constexpr auto about`, usually a struct Options, and a constructor that takes `const Options&` or nothing.
// Its callbacks are public, each the only member of its name, with the base's parameters. What is not so is the
// compiler's first error, a line that begins with "belay:" and says what to do (detail/check_class.h). A callback may
// throw; only the code and the message of the exception cross the boundary.
//
// A program's own hook, with whatever constructor it likes, becomes a (table, self) pair with belay::hook(...).
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

// A plugin instance as the runtime takes it: its table and its object. Owns it. A Handle that borrows (owned = false)
// leaves the object to its maker.
template <class Api>
class Handle {
 public:
  Handle() noexcept = default;
  Handle(const Api* table, void* self, bool owned = true) noexcept : table_(table), self_(self), owned_(owned) {}
  Handle(Handle&& o) noexcept
      : table_(o.table_), self_(std::exchange(o.self_, nullptr)), owned_(std::exchange(o.owned_, false)) {}
  Handle& operator=(Handle&& o) noexcept {
    std::swap(table_, o.table_), std::swap(self_, o.self_), std::swap(owned_, o.owned_);
    return *this;
  }
  ~Handle() {
    if (owned_ && self_ != nullptr) table_->destroy(self_);
  }
  explicit operator bool() const noexcept { return self_ != nullptr; }
  const Api* table() const noexcept { return table_; }
  void* self() const noexcept { return self_; }

 private:
  const Api* table_ = nullptr;
  void* self_ = nullptr;
  bool owned_ = false;
};

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

// A (table, self) pair for an object that the program made itself. `host` must outlive the handle; the runtime makes
// one (runtime/loader/host.h), a test has its own (testing/).
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

// The symbol's name. belay_add_plugin sets BELAY_MODULE_NAME to belay_module_<name>, so that several plugins can be
// linked into one program; the exported symbol is then an alias.
#ifndef BELAY_MODULE_NAME
#define BELAY_MODULE_NAME belay_module_v0
#define BELAY_MODULE_ALIAS
#else
#define BELAY_MODULE_TEXT_(x) #x
#define BELAY_MODULE_TEXT(x) BELAY_MODULE_TEXT_(x)
#define BELAY_MODULE_ALIAS                                                                             \
  extern "C" __attribute__((visibility("default"), weak, alias(BELAY_MODULE_TEXT(BELAY_MODULE_NAME)))) \
  const belay_module belay_module_v0;
#endif

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
