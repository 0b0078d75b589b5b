// SPDX-License-Identifier: Apache-2.0
// The facts that a training learned from its data. It has the input's features and labels with the names of columns and
// classes. It also has the values that the input fitted, and the options that decide about its batches. The schema
// belongs to the model. Checkpoints, exports and the run directory keep it as `schema.json`. Every other input of the
// model is matched with it.
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
  std::int64_t classes = 0;               // values are in [0, classes); 0: unknown
  std::vector<std::string> class_names;   // by value, all different; empty: unknown
  std::vector<std::string> columns = {};  // of the last dimension, all different; empty: unknown
};

// The feature or label of an input that identifies an example. Predictions keep it.
inline constexpr std::string_view kIdName = "id";
// The label that weighs an example. A model predicts the others.
inline constexpr std::string_view kWeightName = "weight";
// True if it is only for predictions, and no feature or label of the model: an id of strings, or an id that is a label
// beside others.
bool is_only_an_id(const std::vector<InputComponent>& components, const InputComponent& component);

using KeptValue = std::variant<std::vector<double>, std::vector<std::string>>;

struct Schema {
  std::string plugin;  // the input's; empty: a program's input function
  std::vector<InputComponent> components;
  std::map<std::string, KeptValue, std::less<>> kept;  // the values that the input fitted, by its names
  std::vector<PluginOption> options;                   // options that other inputs inherit, without places
  bool features_alone = false;                         // true: it has no labels (features_of); not stored
};

// Returns the part for a model that begins with a part of this one, for example without its last layer. It has nothing
// about labels.
Schema features_of(Schema schema);

inline constexpr std::uint64_t kMaxSchemaBytes = std::uint64_t{64} << 20;

// Writes one line for each component. A string that is no UTF-8 becomes {"hex": "ff"}.
std::string format_schema(const Schema& schema);
// DATA_LOSS names the fault.
Schema parse_schema(std::string_view text);

// The input that is compared with the training's.
struct MatchedInput {
  std::string name;  // "eval", for messages
  InputUse use = InputUse::kEvaluation;
  std::set<std::string> written = {};  // options that the manifest sets for it, other than the training's
  bool common_alone = false;           // true: parts that only one of both has are no problem
  // Options that its section sets, even to the training's value. Their element types are not compared.
  std::set<std::string> said = {};
};

class SchemaMatch {
 public:
  std::vector<std::string> problems;  // empty: it can be used
  std::vector<std::string> by_place;  // parts that only one of both names, each a sentence for a warning
  // In the form, order and names of the training's input. Those that are only ids come last.
  std::vector<InputComponent> components;

  // True if a batch stays unchanged.
  bool identical() const noexcept { return identical_; }
  // True if columns or class numbers have another order than the training's.
  bool moves_elements() const noexcept;
  // Reorders a batch from the order of the input's slots to that of `components`. OUT_OF_RANGE: it has a class number
  // that the input did not declare.
  void arrange(std::vector<DenseTensor>& batch, BufferPool& pool) const;

 private:
  friend SchemaMatch unmatched(const Schema& own);
  friend SchemaMatch match_schema(const Schema& trained, const Schema& own, const MatchedInput& input);
  struct Source {
    std::size_t slot = 0;
    std::vector<std::size_t> columns;   // the input's, by the training's index; empty: unchanged
    std::vector<std::int64_t> classes;  // the training's, by the input's number; empty: unchanged
  };
  std::vector<Source> sources_;
  bool identical_ = true;
};

// Matches by name. Class words, columns and kept values of `own` must be among the training's. If there is only one
// label, it may have another name. Predictions need no label.
SchemaMatch match_schema(const Schema& trained, const Schema& own, const MatchedInput& input);

// Returns the differences of a training on other data. Each difference is a clause such as `column "c" of feature "x"
// is new`. Another order of columns or classes is no difference, since they are matched by name.
std::vector<std::string> differences_between(const Schema& trained, const Schema& now);

// Returns the class names of the only label besides a weight; empty: there are several, or they are unknown.
std::vector<std::string> class_names_of(const std::vector<InputComponent>& components);

// Returns the input unchanged, since there is no schema to match it with.
SchemaMatch unmatched(const Schema& own);

// Returns the rows for a display, a label and a text each: {"columns of "features"", "\"a\", \"b\""}, {"classes of
// "label"", "0 \"setosa\", 1 \"versicolor\""}, {"fitted standardize.mean", "4.8, 581.4"}. Classes named by their
// numbers are left out.
std::vector<std::pair<std::string, std::string>> schema_rows(const Schema& schema);

}  // namespace belay::runtime
