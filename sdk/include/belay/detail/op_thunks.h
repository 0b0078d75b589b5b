// SPDX-License-Identifier: Apache-2.0
// The C callbacks of an Op's class. The plugin instance holds the host alone. Each node has an object of the class,
// made from the node's attributes.
#pragma once

#include <memory>

#include "belay/detail/note.h"
#include "belay/detail/parse_options.h"
#include "belay/op.h"

namespace belay {
inline namespace v0 {
namespace detail {

// An object of T with the memory of its options.
template <class T>
struct OpObject {
  OptionStorage storage;
  std::unique_ptr<T> op;
  int threads = 1;
  std::uint64_t seed = 0;
};

template <class T>
struct OpThunks {
  struct Instance {
    Instance(const belay_host_api* api, belay_host* raw) : host(api, raw) {}
    Host host;
  };
  static Host& host(void* self) noexcept { return static_cast<Instance*>(self)->host; }

  static std::unique_ptr<OpObject<T>> make(void* self, const belay_op_node& node) {
    const ConstructionScope constructing(&host(self));
    auto made = std::make_unique<OpObject<T>>();
    using Options = typename OptionsOf<T>::type;
    const Options options = parse_options<Options>(T::about, "op", node.attrs, node.n_attrs, made->storage);
    if constexpr (std::is_constructible_v<T, const Options&>) {
      made->op = std::make_unique<T>(options);
    } else {
      made->op = std::make_unique<T>();
    }
    return made;
  }

  static std::int32_t create(const belay_host_api* api, belay_host* host, const belay_named_value*, std::uint64_t,
                             void** self, belay_status* status) noexcept {
    // NOLINTNEXTLINE(bugprone-unhandled-exception-at-new): guard catches it
    return guard(status, [&] { *self = new Instance(api, host); });
  }
  static void destroy(void* self) noexcept { delete static_cast<Instance*>(self); }

  static std::int32_t traits(void*, belay_op_traits* out, belay_status* status) noexcept {
    return guard(status, [&] { fill_sized(out, T::traits.raw()); });
  }
  static std::int32_t infer(void* self, const belay_op_node* node, belay_op_outputs* outputs,
                            belay_status* status) noexcept {
    return guard(status, [&] {
      belay_op_node room;
      const belay_op_node& n = read_sized(node, room);
      OpShapes shapes(&host(self).services().op, n, outputs);
      const auto object = make(self, n);
      static_cast<const T&>(*object->op).infer(shapes);
    });
  }
  static std::int32_t make_kernel(void* self, const belay_op_kernel_args* args, void** kernel,
                                  belay_status* status) noexcept {
    return guard(status, [&] {
      belay_op_kernel_args room;
      belay_op_node node_room;
      belay_op_kernel_args a = read_sized(args, room);
      a.node = &read_sized(a.node, node_room);
      auto made = make(self, *a.node);
      made->threads = a.threads;
      made->seed = a.seed;
      made->op->prepare(OpSetup(a));
      *kernel = made.release();
    });
  }
  static std::int32_t run(void* self, void* kernel, const belay_op_run* run, belay_status* status) noexcept {
    return guard(status, [&] {
      OpObject<T>& object = *static_cast<OpObject<T>*>(kernel);
      belay_op_run room;
      OpRun r(&host(self).services().op, read_sized(run, room), object.threads, object.seed);
      object.op->run(r);
    });
  }
  static void destroy_kernel(void*, void* kernel) noexcept {
    try {
      delete static_cast<OpObject<T>*>(kernel);
    } catch (...) {  // a destructor throws: it cannot be handled, and no exception may pass
    }
  }
  static std::int32_t gradient(void* self, const belay_op_gradient_args* args, belay_status* status) noexcept {
    return guard(status, [&] {
      belay_op_gradient_args room;
      belay_op_node node_room;
      belay_op_gradient_args a = read_sized(args, room);
      a.node = &read_sized(a.node, node_room);
      OpGradient g(&host(self).services().graph, a);
      const auto object = make(self, *a.node);
      static_cast<const T&>(*object->op).gradient(g);
    });
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace belay
