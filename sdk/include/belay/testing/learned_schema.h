// SPDX-License-Identifier: Apache-2.0
// The declared and kept data of a training's input. In a host it belongs to the model, and other inputs must match it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <string>
#include <vector>

#include "belay/input.h"
#include "belay/tensor.h"

namespace belay {
inline namespace v0 {
namespace testing {

struct DeclaredTensor {
  std::string name;
  DType dtype = DType::kInvalid;
  Dims dims;  // dims[0] is the batch; -1: unknown
  bool is_label = false;
  std::int64_t classes = 0;              // values are in [0, classes); 0: not known
  std::vector<std::string> class_names;  // by value; empty: not known
  std::vector<std::string> columns;      // of the last dimension; empty: not known
};

struct LearnedSchema {
  std::vector<DeclaredTensor> tensors;                    // by slot
  std::map<std::string, std::vector<double>> values;      // kept values, by name
  std::map<std::string, std::vector<std::string>> words;  // kept words, by name

  // Null: the name is unknown.
  const DeclaredTensor* find(const std::string& name) const {
    const auto at =
        std::find_if(tensors.begin(), tensors.end(), [&](const DeclaredTensor& tensor) { return tensor.name == name; });
    return at == tensors.end() ? nullptr : &*at;
  }
};

namespace by_name {

inline std::string quoted_list(const std::vector<std::string>& names) {
  std::string list;
  for (const std::string& name : names) list += (list.empty() ? "'" : ", '") + name + "'";
  return list;
}

inline std::vector<std::string> names_without(std::vector<std::string> names, std::vector<std::string> others) {
  std::sort(names.begin(), names.end());
  std::sort(others.begin(), others.end());
  std::vector<std::string> rest;
  std::set_difference(names.begin(), names.end(), others.begin(), others.end(), std::back_inserter(rest));
  return rest;
}

// Compares names. Their order may differ, and an input need not declare them. `all`: it must have each of them.
inline std::string difference_of_names(const std::vector<std::string>& learned, const std::vector<std::string>& given,
                                       bool all) {
  if (learned.empty() || given.empty()) return "";
  const std::vector<std::string> missing = names_without(learned, given), more = names_without(given, learned);
  std::string text;
  if (all && !missing.empty()) text += " lacks " + quoted_list(missing);
  if (!more.empty()) text += (text.empty() ? " has " : " and has ") + quoted_list(more) + ", unknown to the training";
  return text;
}

// True if the shapes match except for the batch and unknown dimensions.
inline bool same_rows(const Dims& a, const Dims& b) {
  bool same = a.size() == b.size();
  for (std::size_t i = 1; same && i < a.size(); ++i) same = a[i] < 0 || b[i] < 0 || a[i] == b[i];
  return same;
}

inline std::string difference_of_tensors(const DeclaredTensor& learned, const DeclaredTensor& given) {
  const std::string name = "'" + given.name + "'";
  const auto text = [](const DeclaredTensor& tensor) {
    return std::string(dtype_name(tensor.dtype)) + " " + dims_text(tensor.dims);
  };
  const std::string columns = difference_of_names(learned.columns, given.columns, true);
  if (!columns.empty()) return "of its columns " + name + columns;
  if (learned.dtype != given.dtype || !same_rows(learned.dims, given.dims))
    return name + " is " + text(given) + ", the training's is " + text(learned);
  const std::string names = difference_of_names(learned.class_names, given.class_names, false);
  if (!names.empty()) return "of its classes " + name + names;
  const bool named = !learned.class_names.empty() && !given.class_names.empty();
  if (named || learned.classes == given.classes || learned.classes == 0 || given.classes == 0) return "";
  return name + " has " + std::to_string(given.classes) + " classes, the training's has " +
         std::to_string(learned.classes);
}

// The features, or labels, of a model, without those that only identify an example.
inline std::vector<const DeclaredTensor*> of_model(const LearnedSchema& schema, bool labels) {
  const auto n = std::count_if(schema.tensors.begin(), schema.tensors.end(), [](const auto& t) { return t.is_label; });
  std::vector<const DeclaredTensor*> found;
  for (const DeclaredTensor& tensor : schema.tensors) {
    const bool id = tensor.name == "id" && (tensor.dtype == DType::kString || (tensor.is_label && n > 1));
    if (tensor.is_label == labels && !id) found.push_back(&tensor);
  }
  return found;
}

inline std::string difference_of_all(const std::vector<const DeclaredTensor*>& learned,
                                     const std::vector<const DeclaredTensor*>& given) {
  const std::string role = !learned.empty() && learned[0]->is_label ? "label" : "feature";
  const bool only_label = role == "label" && learned.size() == 1 && given.size() == 1;
  const auto named = [](const DeclaredTensor& wanted) {
    return [&wanted](const DeclaredTensor* tensor) { return tensor->name == wanted.name; };
  };
  for (const DeclaredTensor* tensor : learned) {
    const auto found = only_label ? given.begin() : std::find_if(given.begin(), given.end(), named(*tensor));
    if (found == given.end()) return "the input lacks the " + role + " '" + tensor->name + "', which the training has";
    std::string difference = difference_of_tensors(*tensor, **found);
    if (!difference.empty()) return difference;
  }
  for (const DeclaredTensor* tensor : given)
    if (!only_label && std::find_if(learned.begin(), learned.end(), named(*tensor)) == learned.end())
      return "the input has '" + tensor->name + "', which the training has not";
  return "";
}

template <class Kept>
std::string difference_of_kept(const Kept& learned, const Kept& given) {
  for (const auto& [name, kept] : learned) {
    const auto at = given.find(name);
    if (at == given.end()) return "the input does not keep '" + name + "', as the training does";
    if (at->second != kept) return "what the input keeps as '" + name + "' is not the training's";
  }
  for (const auto& [name, kept] : given)
    if (learned.find(name) == learned.end()) return "the input keeps '" + name + "', which the training does not";
  return "";
}

}  // namespace by_name

// The reason that a host cannot match an input with the training's schema; empty: it can. Features, columns and classes
// are compared by name, in any order. A single label may have another name, and a prediction needs none. Classes may be
// some of the training's.
inline std::string difference_from_learned(const LearnedSchema& learned, const LearnedSchema& given, InputUse use) {
  std::string difference =
      by_name::difference_of_all(by_name::of_model(learned, false), by_name::of_model(given, false));
  if (difference.empty() && use != InputUse::kPrediction)
    difference = by_name::difference_of_all(by_name::of_model(learned, true), by_name::of_model(given, true));
  if (difference.empty()) difference = by_name::difference_of_kept(learned.values, given.values);
  if (difference.empty()) difference = by_name::difference_of_kept(learned.words, given.words);
  return difference;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
