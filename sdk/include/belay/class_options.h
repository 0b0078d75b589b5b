// SPDX-License-Identifier: Apache-2.0
// The number and names of the classes in an input's labels: the options `classes` and `class_names`.
//
//   struct Options : belay::ClassOptions, belay::BatchOptions { ... };
//   static constexpr auto about = belay::about(..., belay::class_options<Options>(), belay::batch_options<Options>());
//   ...
//   classes_ = declare_classes(spec, label_, options_);      // in spec; 0: labels are not checked
//   if (classes_ != 0 && (label < 0 || label >= classes_)) fail(Code::kDataLoss, ... + text_of_classes(classes_));
//
// Other inputs of the model get the training's values, unless they set their own.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "belay/input.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// The members of these options. An input's Options derive from it, and its `about` names them with class_options.
struct ClassOptions {
  std::optional<std::int64_t> classes;
  List<Str> class_names;
};

// The declarations of classes and class_names, for the `about` of an input whose Options O derive from ClassOptions.
template <class O>
constexpr auto class_options(std::string_view classes_help =
                                 "number of classes; the labels are whole numbers below it; 0 means no check; if not "
                                 "set, as many as 'class_names'") {
  constexpr std::optional<std::int64_t> O::*classes = &O::classes;
  constexpr List<Str> O::*names = &O::class_names;
  return std::make_tuple(
      option("classes", classes, classes_help).min(0).learned(),
      option("class_names", names, "names of the labels 0, 1, ...; predictions have the name of their class")
          .learned());
}

// Declares the classes of an integer label and returns their number; 0: not known. `fallback` applies if neither option
// is set. INVALID_ARGUMENT: the two options contradict each other.
inline std::int64_t declare_classes(InputSpec& spec, std::uint32_t slot, const ClassOptions& options,
                                    std::int64_t fallback = 0) {
  if (options.class_names.empty()) {
    const std::int64_t classes = options.classes.value_or(fallback);
    if (classes > 0) spec.set_classes(slot, classes);
    return classes;
  }
  std::vector<std::string> names;
  for (const Str& name : options.class_names) names.push_back(name.string());
  const auto count = static_cast<std::int64_t>(names.size());
  if (options.classes && *options.classes != count)
    fail(Code::kInvalidArgument, "'classes' is " + std::to_string(*options.classes) + ", and 'class_names' has " +
                                     std::to_string(count) + "; leave 'classes' out");
  spec.set_class_names(slot, names);
  return count;
}

// For the message about a label out of range: "with 3 classes labels are 0 to 2".
inline std::string text_of_classes(std::int64_t classes) {
  return "with " + std::to_string(classes) + " classes labels are 0 to " + std::to_string(classes - 1);
}

}  // namespace v0
}  // namespace belay
