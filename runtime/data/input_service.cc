// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_service.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_map>

#include "belay/detail/sized.h"
#include "runtime/graph/node_graph.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

namespace {

// True if the elements' bytes can be counted, with one element for each unknown dimension.
bool addressable(DType dtype, const Dims& dims) noexcept {
  auto bytes = static_cast<std::int64_t>(dtype_size(dtype));
  for (const std::int64_t d : dims)
    if (d > 0 && __builtin_mul_overflow(bytes, d, &bytes)) return false;
  return true;
}

// Returns the index of the first value outside [0, classes), or `n`. It reads the values in one pass without a branch.
template <class T>
std::size_t first_outside(const T* values, std::size_t n, std::int64_t classes) noexcept {
  const auto last = static_cast<std::uint64_t>(classes - 1);
  std::uint64_t signs = 0;  // the top bit is set if a value, or its distance to the last class, is negative
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = static_cast<std::uint64_t>(static_cast<std::int64_t>(values[i]));
    signs |= v | (last - v);
  }
  if (static_cast<std::int64_t>(signs) >= 0) return n;
  const auto outside = [&](T v) { return static_cast<std::uint64_t>(static_cast<std::int64_t>(v)) > last; };
  return static_cast<std::size_t>(std::find_if(values, values + n, outside) - values);
}

// Without this check a loss, or a lookup in a table, would be blamed for it.
void check_classes(const InputComponent& c, const DenseTensor& tensor) {
  const TensorView values(tensor.view());
  const auto n = static_cast<std::size_t>(values.size());
  const std::size_t at = c.dtype == DType::kInt64   ? first_outside(values.data<const std::int64_t>(), n, c.classes)
                         : c.dtype == DType::kInt32 ? first_outside(values.data<const std::int32_t>(), n, c.classes)
                                                    : first_outside(values.data<const std::uint8_t>(), n, c.classes);
  if (at == n) return;
  fail(Code::kInvalidArgument,
       fmt::format("[B3007] '{}' has the value {} in element {}, and was declared with {} classes: they count from 0",
                   c.name, static_cast<std::int64_t>(values.number(at)), at, c.classes));
}

[[noreturn]] void refuse_size(const InputComponent& c, const Dims& dims) {
  fail(Code::kInvalidArgument, fmt::format("[B3004] '{}' ({} {}) has more bytes than can be addressed", c.name,
                                           dtype_name(c.dtype), dims_text(dims)));
}

}  // namespace

const InputComponent& BatchBuilder::component(std::uint32_t slot) const {
  if (slot >= components_.size())
    fail(Code::kInvalidArgument,
         fmt::format("[B3004] the input declared {} components, there is no slot {}", components_.size(), slot));
  return components_[slot];
}

void BatchBuilder::begin(std::vector<DenseTensor> empty) {
  tensors_ = std::move(empty);
  tensors_.clear();
  tensors_.resize(components_.size());
}

belay_tensor BatchBuilder::tensor(std::uint32_t slot, const Dims& dims) {
  const InputComponent& c = component(slot);
  if (!Shape::compatible(Shape(c.dims), Shape(dims)) ||
      std::any_of(dims.begin(), dims.end(), [](auto d) { return d < 0; }))
    fail(Code::kInvalidArgument,
         fmt::format("[B3004] '{}' was declared {}, the batch has {}", c.name, dims_text(c.dims), dims_text(dims)));
  if (!addressable(c.dtype, dims)) refuse_size(c, dims);
  tensors_[slot] = DenseTensor(c.dtype, dims, pool_.get());
  return tensors_[slot].view();
}

void BatchBuilder::set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes) {
  const InputComponent& c = component(slot);
  DenseTensor& t = tensors_[slot];
  if (c.dtype != DType::kString || !t || element >= static_cast<std::uint64_t>(t.elements()))
    fail(Code::kInvalidArgument, fmt::format("[B3004] '{}' has no string element {}", c.name, element));
  t.set_text(static_cast<std::size_t>(element), bytes);
}

std::vector<DenseTensor> BatchBuilder::finish() {
  std::int64_t rows = -1;  // of the first tensor; -1: it has no dimensions
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const InputComponent& c = components_[i];
    const DenseTensor& t = tensors_[i];
    if (!t) fail(Code::kInternal, fmt::format("[B3004] the batch lacks '{}': the input did not fill it", c.name));
    if (!t.guards_hold()) tensors_[i].fail_outside("'" + c.name + "'");
    if (const Dims& dims = t.dims(); !dims.empty()) {
      if (dims[0] == 0)
        fail(Code::kInternal,
             fmt::format("[B3004] '{}' has 0 rows: an input delivers none, and its end is OUT_OF_RANGE", c.name));
      if (i == 0) rows = dims[0];
      if (rows != -1 && dims[0] != rows)
        fail(Code::kInternal,
             fmt::format("[B3004] '{}' has {} examples, '{}' has {}", components_[0].name, rows, c.name, dims[0]));
    }
    if (c.classes != 0) check_classes(c, t);
  }
  return std::move(tensors_);
}

namespace {

using detail::guard;
using detail::view;

void check_rank(std::int32_t rank, const std::int64_t* dims) {
  if (rank < 0 || rank > detail::kMaxRank || (rank > 0 && dims == nullptr))
    fail(Code::kInvalidArgument,
         fmt::format("[B3003] a component of an input cannot have rank {}{}", rank,
                     rank > 0 && rank <= detail::kMaxRank ? " and no dimensions (dims is null)" : ""));
}

std::int32_t declare(belay_input_spec* spec, std::int32_t role, belay_str name, std::int32_t dtype, std::int32_t rank,
                     const std::int64_t* dims, belay_status* status) {
  return guard(status, [&] {
    check_rank(rank, dims);
    if (role != BELAY_FEATURE && role != BELAY_LABEL)
      fail(Code::kUnimplemented,
           fmt::format(
               "[B3003] '{}' has the role {}, which this host does not know: a component is a feature or a label",
               view(name), role));
    std::vector<InputComponent>& components = from_handle(spec).own.components;
    InputComponent c{
        role == BELAY_LABEL, std::string(view(name)), static_cast<DType>(dtype), Dims(dims, dims + rank), 0, {}};
    if (c.name.empty()) fail(Code::kInvalidArgument, "[B3003] a component of an input needs a name");
    if (!valid_node_name(c.name))
      fail(Code::kInvalidArgument,
           fmt::format("[B3003] '{}' is no name for a component of an input: letters, digits and . _ - / only",
                       escaped(c.name)));
    if (dtype_size(c.dtype) == 0)
      fail(Code::kInvalidArgument, fmt::format("[B3003] '{}' has the unknown dtype {}", c.name, dtype));
    for (const InputComponent& other : components)
      if (other.name == c.name)
        fail(Code::kInvalidArgument, fmt::format("[B3003] the input declares '{}' twice", c.name));
    for (const std::int64_t d : c.dims)
      if (d < -1)
        fail(
            Code::kInvalidArgument,
            fmt::format("[B3003] '{}' has the dimension {}; -1 declares one that is known with each batch", c.name, d));
    if (!addressable(c.dtype, c.dims)) refuse_size(c, c.dims);
    components.push_back(std::move(c));
  });
}

InputComponent& declared_component(belay_input_spec* spec, std::uint32_t slot) {
  auto& components = from_handle(spec).own.components;
  if (slot >= components.size())
    fail(Code::kInvalidArgument,
         fmt::format("[B3004] the input declared {} components, there is no slot {}", components.size(), slot));
  return components[slot];
}

InputComponent& component_of_classes(belay_input_spec* spec, std::uint32_t slot, std::int64_t classes) {
  InputComponent& c = declared_component(spec, slot);
  const bool integer = c.dtype == DType::kInt32 || c.dtype == DType::kInt64 || c.dtype == DType::kUInt8;
  if (classes < 1 || !integer)
    fail(Code::kInvalidArgument, fmt::format("[B3003] '{}' ({}) cannot have {} classes; at least 1, of an integer",
                                             c.name, dtype_name(c.dtype), classes));
  return c;
}

void check_count(const InputComponent& c, std::int64_t classes, std::size_t names) {
  if (static_cast<std::uint64_t>(classes) != names)
    fail(Code::kInvalidArgument, fmt::format("[B3003] '{}' has {} classes and {} class names", c.name, classes, names));
}

// `what` is "the class name", for example.
void check_different(const std::string& what, const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> value_of;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [first, added] = value_of.emplace(names[i], i);
    if (!added)
      fail(Code::kInvalidArgument,
           fmt::format("[B3003] {} {} twice, for {} and {}", what, single_quoted(names[i]), first->second, i));
  }
}

std::vector<std::string> copied(const belay_str* names, std::uint64_t count, const std::string& whose) {
  if (names == nullptr && count != 0) fail(Code::kInvalidArgument, fmt::format("[B3003] {} are null", whose));
  std::vector<std::string> copies;
  copies.reserve(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    detail::check_text(fmt::format("name {} of {}", i, whose), names[i]);
    copies.emplace_back(view(names[i]));
  }
  return copies;
}

std::int32_t set_classes(belay_input_spec* spec, std::uint32_t slot, std::int64_t classes, belay_status* status) {
  return guard(status, [&] {
    InputComponent& c = component_of_classes(spec, slot, classes);
    if (!c.class_names.empty()) check_count(c, classes, c.class_names.size());
    c.classes = classes;
  });
}

std::int32_t set_class_names(belay_input_spec* spec, std::uint32_t slot, const belay_str* names, std::uint64_t count,
                             belay_status* status) {
  return guard(status, [&] {
    const auto classes = static_cast<std::int64_t>(count);
    InputComponent& c = component_of_classes(spec, slot, classes);
    if (c.classes != 0) check_count(c, c.classes, count);
    std::vector<std::string> copies = copied(names, count, "the class names of '" + c.name + "'");
    check_different("'" + c.name + "' has the class name", copies);
    c.classes = classes;
    c.class_names = std::move(copies);
  });
}

std::int32_t set_columns(belay_input_spec* spec, std::uint32_t slot, const belay_str* names, std::uint64_t count,
                         belay_status* status) {
  return guard(status, [&] {
    InputComponent& c = declared_component(spec, slot);
    if (c.dims.size() < 2 || c.dims.back() < 0 || static_cast<std::uint64_t>(c.dims.back()) != count)
      fail(Code::kInvalidArgument,
           fmt::format("[B3003] '{}' {} cannot have {} names of columns; as many as its last dimension has elements",
                       c.name, dims_text(c.dims), count));
    std::vector<std::string> copies = copied(names, count, "the names of the columns of '" + c.name + "'");
    check_different("'" + c.name + "' has the column", copies);
    c.columns = std::move(copies);
  });
}

void keep(belay_input_spec* spec, belay_str name, KeptValue value) {
  if (name.size == 0) fail(Code::kInvalidArgument, "[B3003] what an input keeps needs a name");
  from_handle(spec).own.kept.insert_or_assign(std::string(view(name)), std::move(value));
}

std::int32_t keep_values(belay_input_spec* spec, belay_str name, const double* values, std::uint64_t count,
                         belay_status* status) {
  return guard(status, [&] {
    const std::string what = "the values that are kept as '" + std::string(view(name)) + "'";
    if (values == nullptr && count != 0) fail(Code::kInvalidArgument, fmt::format("[B3003] {} are null", what));
    std::vector<double> copies(values, values + count);
    for (const double v : copies)
      if (!std::isfinite(v))
        fail(Code::kInvalidArgument, fmt::format("[B3003] {} must be finite, and one is {}", what, v));
    keep(spec, name, std::move(copies));
  });
}

std::int32_t keep_words(belay_input_spec* spec, belay_str name, const belay_str* words, std::uint64_t count,
                        belay_status* status) {
  return guard(status, [&] {
    keep(spec, name, copied(words, count, "the words that are kept as '" + std::string(view(name)) + "'"));
  });
}

std::int32_t use(belay_input_spec* spec, std::int32_t* use, std::int32_t* has_learned, belay_status* status) {
  return guard(status, [&] {
    const InputDeclaration& declaration = from_handle(spec);
    *use = static_cast<std::int32_t>(declaration.use);
    *has_learned = declaration.learned == nullptr ? 0 : 1;
  });
}

[[noreturn]] void nothing_learned(std::string_view name) {
  fail(Code::kNotFound, fmt::format("[B3008] the training has nothing of this kind named '{}'", name));
}

const std::vector<std::string>* learned_words(const Schema& learned, std::int32_t what, std::string_view name) {
  if (what == BELAY_LEARNED_WORDS) {
    const auto kept = learned.kept.find(name);
    return kept == learned.kept.end() ? nullptr : std::get_if<std::vector<std::string>>(&kept->second);
  }
  for (const InputComponent& c : learned.components) {
    if (c.name != name) continue;
    const std::vector<std::string>& words = what == BELAY_LEARNED_COLUMNS ? c.columns : c.class_names;
    return words.empty() ? nullptr : &words;
  }
  return nullptr;
}

const std::vector<double>* learned_values(const Schema& learned, std::string_view name) {
  const auto kept = learned.kept.find(name);
  return kept == learned.kept.end() ? nullptr : std::get_if<std::vector<double>>(&kept->second);
}

std::int32_t learned(belay_input_spec* spec, std::int32_t what, belay_str raw_name, belay_learned* out,
                     belay_status* status) {
  return guard(status, [&] {
    InputDeclaration& declaration = from_handle(spec);
    const std::string_view name = view(raw_name);
    if (what < BELAY_LEARNED_COLUMNS || what > BELAY_LEARNED_WORDS)
      fail(Code::kInvalidArgument, fmt::format("[B3003] an input cannot ask for what {} is; 1 to 4 are known", what));
    if (declaration.learned == nullptr) nothing_learned(name);
    auto found = detail::sized<belay_learned>();
    if (what == BELAY_LEARNED_VALUES) {
      const std::vector<double>* values = learned_values(*declaration.learned, name);
      if (values == nullptr) nothing_learned(name);
      found.values = values->data(), found.count = values->size();
    } else {
      const std::vector<std::string>* words = learned_words(*declaration.learned, what, name);
      if (words == nullptr) nothing_learned(name);
      declaration.words.clear();
      for (const std::string& word : *words) declaration.words.push_back(detail::str(word));
      found.words = declaration.words.data(), found.count = declaration.words.size();
    }
    detail::fill_sized(out, found);
  });
}

std::int32_t tensor(belay_batch* batch, std::uint32_t slot, std::int32_t rank, const std::int64_t* dims,
                    belay_tensor* out, belay_status* status) {
  return guard(status, [&] {
    thread_local Dims copy;
    check_rank(rank, dims);
    copy.assign(dims, dims + rank);
    *out = from_handle(batch).tensor(slot, copy);
  });
}

std::int32_t set_string(belay_batch* batch, std::uint32_t slot, std::uint64_t element, belay_str bytes,
                        belay_status* status) {
  return guard(status, [&] { from_handle(batch).set_string(slot, element, view(bytes)); });
}

constexpr belay_input_service kInputService{sizeof(belay_input_service),
                                            0,
                                            checked<declare, detail::name_of_input_declare>,
                                            checked<tensor, detail::name_of_input_tensor>,
                                            checked<set_string, detail::name_of_input_set_string>,
                                            checked<set_classes, detail::name_of_input_set_classes>,
                                            checked<set_class_names, detail::name_of_input_set_class_names>,
                                            checked<set_columns, detail::name_of_input_set_columns>,
                                            checked<keep_values, detail::name_of_input_keep_values>,
                                            checked<keep_words, detail::name_of_input_keep_words>,
                                            checked<use, detail::name_of_input_use>,
                                            checked<learned, detail::name_of_input_learned>};

}  // namespace

std::vector<DeclaredLabel> declared_labels(const std::vector<InputComponent>& components) {
  std::vector<DeclaredLabel> labels;
  for (const InputComponent& c : components)
    if (c.label && !is_only_an_id(components, c)) labels.push_back({c.name, c.dtype, c.dims, c.classes, c.class_names});
  return labels;
}

std::vector<DeclaredLabel> declared_labels(const Schema& schema) {
  std::vector<DeclaredLabel> labels = declared_labels(schema.components);
  for (DeclaredLabel& label : labels) {
    const std::vector<double>* counts = learned_values(schema, label.name + ".counts");
    if (counts != nullptr && static_cast<std::int64_t>(counts->size()) == label.classes) label.class_counts = *counts;
    const std::vector<double>* moments = learned_values(schema, label.name + ".moments");
    if (moments == nullptr || moments->size() != 4) continue;
    label.mean = (*moments)[0], label.deviation = (*moments)[1];
    label.log_mean = (*moments)[2], label.log_deviation = (*moments)[3];
  }
  return labels;
}

const belay_input_service* input_service() noexcept { return &kInputService; }

}  // namespace belay::runtime
