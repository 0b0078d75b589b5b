// SPDX-License-Identifier: Apache-2.0
// Defaults of layers for a part of a program, as slim's arg_scope: while it lives, a layer that says nothing else is
// made with them.
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
// By function: each layer has a struct of options (DenseOptions for dense and dense_last, PoolOptions for both
// poolings), and what is set in one holds for no other. A struct that is made inside the scope begins with the scope's
// values instead of its own defaults, so what a call sets wins and the rest is the scope's; that goes for each member
// as a whole: `.window = {...}` of a call replaces all of the scope's window. The same goes for a scope within a scope:
// it begins with the outer one's values. Behind its end the outer one's, or the defaults of the struct, hold again.
//
// Names of layers, and tensors among the options (a mask, a state), belong to one call and are never taken over. What a
// string_view in the options refers to must live as long as the scope; a literal does.
//
// A scope is of its thread, for what this program or plugin builds on it; hold it in a local variable, since scopes end
// in the opposite order. Manifests have the same in the model `sequential` (`defaults`).
#pragma once

#include <utility>

namespace belay {
inline namespace v0 {
namespace ops {

namespace detail_defaults {

// Of the innermost scope of this thread; null: there is none.
template <class Options>
const Options*& innermost() noexcept {
  thread_local const Options* options = nullptr;
  return options;
}

template <class T>
struct Same {
  using Type = T;
};

// What a member of a layer's options begins with. Where the compiler evaluates it there is no scope.
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

// Holds until what it returns is destroyed. Each struct of options at most once.
template <class... Options>
[[nodiscard]] detail_defaults::Scopes<Options...> defaults(Options... options) {
  return detail_defaults::Scopes<Options...>(std::move(options)...);
}

}  // namespace ops
}  // namespace v0
}  // namespace belay
