// SPDX-License-Identifier: Apache-2.0
// What a training learned from its data: the features and labels of its input with the names of columns and classes,
// what the input fitted, and the options that decide what its batches hold. It belongs to the model: checkpoints,
// exports and the run directory keep it as `schema.json`, and every other input of the model is matched with it.
//
//   const Schema trained = parse_schema(text);
//   SchemaMatch match = match_schema(trained, declared, {.name = "eval", .use = InputUse::kEvaluation});
//   if (!match.problems.empty()) ...                       // what cannot be matched, each a sentence
//   match.arrange(batch);                                  // columns and class numbers in the training's order
//
// [any thread]
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "belay/input.h"
#include "belay/runtime/plugin_use.h"
#include "belay/tensor.h"
#include "runtime/graph/dense_tensor.h"

namespace belay::runtime {

struct InputComponent {
  bool label = false;
  std::string name;
  DType dtype = DType::kInvalid;
  Dims dims;
  std::int64_t classes = 0;               // values are in [0, classes); 0: not said
  std::vector<std::string> class_names;   // by value, all different; empty: not said
  std::vector<std::string> columns = {};  // of the last dimension, all different; empty: not said
};

// The feature or label of an input that says which example it is; predictions carry it along.
inline constexpr std::string_view kIdName = "id";
// Whether it is for predictions alone, and none of the model's features and labels: an id of strings, or one that is a
// label beside others.
bool is_only_an_id(const std::vector<InputComponent>& components, const InputComponent& component);

using KeptValue = std::variant<std::vector<double>, std::vector<std::string>>;

struct Schema {
  std::string plugin;  // of the input; empty: a program's own input function
  std::vector<InputComponent> components;
  std::map<std::string, KeptValue, std::less<>> kept;  // what the input fitted, by its names
  std::vector<PluginOption> options;                   // those that other inputs inherit, without places
  bool features_alone = false;                         // it says nothing of labels (features_of); in no file
};

// What holds for a model that begins with a part of this one, such as all layers but the last: nothing of the labels.
Schema features_of(Schema schema);

inline constexpr std::uint64_t kMaxSchemaBytes = std::uint64_t{64} << 20;

// One line for each component. Strings that are no UTF-8 are {"hex": "ff"}.
std::string format_schema(const Schema& schema);
// DATA_LOSS says what is wrong.
Schema parse_schema(std::string_view text);

// The input that is compared with the training's.
struct MatchedInput {
  std::string name;  // "eval", for messages
  InputUse use = InputUse::kEvaluation;
  std::set<std::string> written =
      {};                     // options that the manifest sets for it, though the training's value is another one
  bool common_alone = false;  // what only one of both has is no problem
  // Options that its own section sets, also to the training's value: for which elements they are is not compared.
  std::set<std::string> said = {};
};

class SchemaMatch {
 public:
  std::vector<std::string> problems;  // empty: it can be used
  std::vector<std::string> by_place;  // what only one of both names, each a sentence for a warning
  // As the training's input had them, in its order, with its names; those that are only ids come last.
  std::vector<InputComponent> components;

  // Whether a batch stays as it is.
  bool identical() const noexcept { return identical_; }
  // Whether columns or class numbers have another order than the training's.
  bool moves_elements() const noexcept;
  // Puts a batch, whose tensors are in the order of the input's slots, into the order of `components`. A class number
  // that the input did not declare is OUT_OF_RANGE.
  void arrange(std::vector<DenseTensor>& batch, BufferPool& pool) const;

 private:
  friend SchemaMatch unmatched(const Schema& own);
  friend SchemaMatch match_schema(const Schema& trained, const Schema& own, const MatchedInput& input);
  struct Source {
    std::size_t slot = 0;
    std::vector<std::size_t> columns;   // of the input, by the training's place; empty: as they are
    std::vector<std::int64_t> classes;  // the training's, by the input's number; empty: as they are
  };
  std::vector<Source> sources_;
  bool identical_ = true;
};

// By name. Class words, columns and kept values of `own` must be among the training's. A label may have another name if
// it is the only one. Predictions need no label.
SchemaMatch match_schema(const Schema& trained, const Schema& own, const MatchedInput& input);

// What a training on other data would learn otherwise, each a clause such as `column "c" of feature "x" is new`.
// Another order of columns or classes is no difference, since they go by name.
std::vector<std::string> differences_between(const Schema& trained, const Schema& now);

// The class names of the only label; empty: there are several, or they are not known.
std::vector<std::string> class_names_of(const std::vector<InputComponent>& components);

// The input as it is: there is no schema to match it with.
SchemaMatch unmatched(const Schema& own);

// What there is to show, a label and a text each: {"columns of "features"", "\"a\", \"b\""}, {"classes of "label"", "0
// \"setosa\", 1 \"versicolor\""}, {"fitted standardize.mean", "4.8, 581.4"}. Classes that are called by their numbers
// are left out.
std::vector<std::pair<std::string, std::string>> schema_rows(const Schema& schema);

}  // namespace belay::runtime
