// SPDX-License-Identifier: Apache-2.0
// Defaults of layers for a part of a program, like slim's arg_scope. While a scope lives, a layer without its own
// options uses the scope's.
//
//   {
//     const auto scope = ops::defaults(ops::Conv2dOptions{.window = {.padding = "SAME"},
//                                                         .activation = ops::Activation::kRelu},
//                                      ops::DenseOptions{.activation = ops::Activation::kRelu});
//     h = ops::conv2d(x, 32, 5);                                            // SAME, relu
//     h = ops::dense(ops::flatten(h), 128);                                 // relu
//     logits = ops::dense(h, 10, {.activation = ops::Activation::kNone});   // linear
//   }
//
// Each function has a separate struct of options (DenseOptions for dense and dense_last, PoolOptions for both
// poolings). A setting of one struct does not affect another. A struct that is made inside the scope begins with the
// scope's values instead of the struct's defaults. So a call's settings win, and the scope supplies the rest. This
// applies to each member as a whole: `.window = {...}` of a call replaces all of the scope's window. An inner scope
// begins with the outer scope's values. After its end the outer scope's values, or the defaults of the struct, apply
// again.
//
// Names of layers, and tensors among the options (a mask, a state), belong to one call and are never inherited. The
// characters of a string_view in the options must live as long as the scope, as those of a literal do.
//
// A scope belongs to its thread and affects graphs that this program or plugin builds on it. Keep it in a local
// variable, because scopes end in the opposite order. Manifests have the same in the model `sequential` (`defaults`).
#pragma once

#include <utility>

namespace belay {
inline namespace v0 {
namespace ops {

namespace detail_defaults {

// Options of the innermost scope of this thread; null: there is none.
template <class Options>
const Options*& innermost() noexcept {
  thread_local const Options* options = nullptr;
  return options;
}

template <class T>
struct Same {
  using Type = T;
};

// The initial value of a member of a layer's options. In a constant expression there is no scope.
template <class Options, class T>
constexpr T value(T Options::*member, typename Same<T>::Type otherwise) {
  if (__builtin_is_constant_evaluated()) return otherwise;
  const Options* options = innermost<Options>();
  return options == nullptr ? std::move(otherwise) : options->*member;
}

template <class Options>
class Scope {
 public:
  explicit Scope(Options options) : options_(std::move(options)), outer_(innermost<Options>()) {
    innermost<Options>() = &options_;
  }
  ~Scope() { innermost<Options>() = outer_; }
  Scope(const Scope&) = delete;
  Scope& operator=(const Scope&) = delete;

 private:
  const Options options_;
  const Options* const outer_;
};

template <class... Options>
class Scopes : Scope<Options>... {
 public:
  explicit Scopes(Options... options) : Scope<Options>(std::move(options))... {}
};

}  // namespace detail_defaults

// Sets defaults until the returned object ends. Each struct of options may be given once.
template <class... Options>
[[nodiscard]] detail_defaults::Scopes<Options...> defaults(Options... options) {
  return detail_defaults::Scopes<Options...>(std::move(options)...);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
