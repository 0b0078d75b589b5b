// SPDX-License-Identifier: Apache-2.0
// What an input of a training declares and keeps: in a host it belongs to the model, and other inputs must match it.
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
  std::int64_t classes = 0;              // values are in [0, classes); 0: not said
  std::vector<std::string> class_names;  // by value; empty: not said
  std::vector<std::string> columns;      // of the last dimension; empty: not said
};

struct LearnedSchema {
  std::vector<DeclaredTensor> tensors;                    // by slot
  std::map<std::string, std::vector<double>> values;      // kept, by name
  std::map<std::string, std::vector<std::string>> words;  // the same

  // Null: nothing of this name.
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

// Names may come in another order, and an input need not say them.
inline std::string difference_of_names(const std::vector<std::string>& learned, const std::vector<std::string>& given) {
  if (learned.empty() || given.empty()) return "";
  const std::vector<std::string> missing = names_without(learned, given), more = names_without(given, learned);
  std::string text;
  if (!missing.empty()) text += " lacks " + quoted_list(missing);
  if (!more.empty()) text += (text.empty() ? " has " : " and has ") + quoted_list(more) + ", unknown to the training";
  return text;
}

inline std::string difference_of_tensors(const DeclaredTensor& learned, const DeclaredTensor& given) {
  const std::string name = "'" + given.name + "'";
  const auto text = [](const DeclaredTensor& tensor) {
    return std::string(tensor.is_label ? "label " : "feature ") + dtype_name(tensor.dtype) + " " +
           dims_text(tensor.dims);
  };
  if (learned.is_label != given.is_label || learned.dtype != given.dtype || learned.dims != given.dims)
    return name + " is " + text(given) + ", the training's is " + text(learned);
  const std::string columns = difference_of_names(learned.columns, given.columns);
  if (!columns.empty()) return "of its columns " + name + columns;
  const std::string names = difference_of_names(learned.class_names, given.class_names);
  if (!names.empty()) return "of its classes " + name + names;
  if (learned.classes == given.classes || learned.classes == 0 || given.classes == 0) return "";
  return name + " has " + std::to_string(given.classes) + " classes, the training's has " +
         std::to_string(learned.classes);
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

// Why a host cannot match an input with what the training learned; empty: it can. Tensors, columns and classes are
// compared by name, in any order. A prediction may lack labels; an 'id' may lack or be there.
inline std::string difference_from_learned(const LearnedSchema& learned, const LearnedSchema& given, InputUse use) {
  for (const DeclaredTensor& tensor : learned.tensors) {
    const DeclaredTensor* found = given.find(tensor.name);
    const bool needed = tensor.name != "id" && !(tensor.is_label && use == InputUse::kPrediction);
    if (found == nullptr && needed) return "the input lacks '" + tensor.name + "', which the training has";
    if (found == nullptr) continue;
    const std::string difference = by_name::difference_of_tensors(tensor, *found);
    if (!difference.empty()) return difference;
  }
  for (const DeclaredTensor& tensor : given.tensors)
    if (learned.find(tensor.name) == nullptr && tensor.name != "id")
      return "the input has '" + tensor.name + "', which the training has not";
  const std::string values = by_name::difference_of_kept(learned.values, given.values);
  return values.empty() ? by_name::difference_of_kept(learned.words, given.words) : values;
}

}  // namespace testing
}  // namespace v0
}  // namespace belay
