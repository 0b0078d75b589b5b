// SPDX-License-Identifier: Apache-2.0
#include "runtime/data/input_service.h"

#include <algorithm>
#include <string_view>
#include <unordered_map>

#include "runtime/platform/text.h"

namespace belay::runtime {

const InputComponent& BatchBuilder::component(std::uint32_t slot) const {
  if (slot >= declaration_.components.size())
    fail(Code::kInvalidArgument, "the input declared " + std::to_string(declaration_.components.size()) +
                                     " components, there is no slot " + std::to_string(slot));
  return declaration_.components[slot];
}

void BatchBuilder::begin(std::vector<DenseTensor> empty) {
  tensors_ = std::move(empty);
  tensors_.clear();
  tensors_.resize(declaration_.components.size());
}

belay_tensor BatchBuilder::tensor(std::uint32_t slot, const Dims& dims) {
  const InputComponent& c = component(slot);
  if (!Shape::compatible(Shape(c.dims), Shape(dims)) ||
      std::any_of(dims.begin(), dims.end(), [](auto d) { return d < 0; }))
    fail(Code::kInvalidArgument,
         "'" + c.name + "' was declared " + dims_text(c.dims) + ", the batch has " + dims_text(dims));
  tensors_[slot] = DenseTensor(c.dtype, dims, pool_.get());
  return tensors_[slot].view();
}

void BatchBuilder::set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes) {
  const InputComponent& c = component(slot);
  DenseTensor& t = tensors_[slot];
  if (c.dtype != DType::kString || !t || element >= static_cast<std::uint64_t>(t.elements()))
    fail(Code::kInvalidArgument, "'" + c.name + "' has no string element " + std::to_string(element));
  t.set_text(static_cast<std::size_t>(element), bytes);
}

std::vector<DenseTensor> BatchBuilder::finish() {
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const InputComponent& c = declaration_.components[i];
    if (!tensors_[i]) fail(Code::kInternal, "the batch lacks '" + c.name + "': the input did not fill it");
    const auto rows = [](const DenseTensor& t) { return t.dims().empty() ? 1 : t.dims()[0]; };
    if (!tensors_[i].dims().empty() && !tensors_[0].dims().empty() && rows(tensors_[i]) != rows(tensors_[0]))
      fail(Code::kInternal, "'" + declaration_.components[0].name + "' has " + std::to_string(rows(tensors_[0])) +
                                " examples, '" + c.name + "' has " + std::to_string(rows(tensors_[i])));
  }
  return std::move(tensors_);
}

namespace {

using detail::guard;
using detail::view;

void check_rank(std::int32_t rank, const std::int64_t* dims) {
  if (rank < 0 || rank > detail::kMaxRank || (rank > 0 && dims == nullptr))
    fail(Code::kInvalidArgument, "a component of an input cannot have rank " + std::to_string(rank) +
                                     (rank > 0 && rank <= detail::kMaxRank ? " and no dimensions (dims is null)" : ""));
}

std::int32_t declare(belay_input_spec* spec, std::int32_t role, belay_str name, std::int32_t dtype, std::int32_t rank,
                     const std::int64_t* dims, belay_status* status) {
  return guard(status, [&] {
    check_rank(rank, dims);
    if (role != BELAY_FEATURE && role != BELAY_LABEL)
      fail(Code::kUnimplemented, "'" + std::string(view(name)) + "' has the role " + std::to_string(role) +
                                     ", which this host does not know: a component is a feature or a label");
    InputDeclaration& declaration = from_handle(spec);
    InputComponent c{
        role == BELAY_LABEL, std::string(view(name)), static_cast<DType>(dtype), Dims(dims, dims + rank), 0, {}};
    if (c.name.empty()) fail(Code::kInvalidArgument, "a component of an input needs a name");
    if (dtype_size(c.dtype) == 0)
      fail(Code::kInvalidArgument, "'" + c.name + "' has the unknown dtype " + std::to_string(dtype));
    for (const InputComponent& other : declaration.components)
      if (other.name == c.name) fail(Code::kInvalidArgument, "the input declares '" + c.name + "' twice");
    declaration.components.push_back(std::move(c));
  });
}

InputComponent& component_of_classes(belay_input_spec* spec, std::uint32_t slot, std::int64_t classes) {
  auto& components = from_handle(spec).components;
  if (slot >= components.size())
    fail(Code::kInvalidArgument, "the input declared " + std::to_string(components.size()) +
                                     " components, there is no slot " + std::to_string(slot));
  InputComponent& c = components[slot];
  const bool integer = c.dtype == DType::kInt32 || c.dtype == DType::kInt64 || c.dtype == DType::kUInt8;
  if (classes < 1 || !integer)
    fail(Code::kInvalidArgument, "'" + c.name + "' (" + dtype_name(c.dtype) + ") cannot have " +
                                     std::to_string(classes) + " classes; at least 1, of an integer");
  return c;
}

void check_count(const InputComponent& c, std::int64_t classes, std::size_t names) {
  if (static_cast<std::uint64_t>(classes) != names)
    fail(Code::kInvalidArgument,
         "'" + c.name + "' has " + std::to_string(classes) + " classes and " + std::to_string(names) + " class names");
}

void check_different(const InputComponent& c, const std::vector<std::string>& names) {
  std::unordered_map<std::string_view, std::size_t> value_of;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto [first, added] = value_of.emplace(names[i], i);
    if (!added)
      fail(Code::kInvalidArgument, "'" + c.name + "' has the class name " + single_quoted(names[i]) + " twice, for " +
                                       std::to_string(first->second) + " and " + std::to_string(i));
  }
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
    if (names == nullptr) fail(Code::kInvalidArgument, "the class names of '" + c.name + "' are null");
    if (c.classes != 0) check_count(c, c.classes, count);
    std::vector<std::string> copies;
    copies.reserve(count);
    for (std::uint64_t i = 0; i < count; ++i) copies.emplace_back(view(names[i]));
    check_different(c, copies);
    c.classes = classes;
    c.class_names = std::move(copies);
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

constexpr belay_input_service kInputService{
    sizeof(belay_input_service), 0, declare, tensor, set_string, set_classes, set_class_names};

}  // namespace

bool is_only_an_id(const std::vector<InputComponent>& components, const InputComponent& component) {
  if (component.name != kIdName) return false;
  const auto labels = std::count_if(components.begin(), components.end(), [](const auto& c) { return c.label; });
  return component.dtype == DType::kString || (component.label && labels > 1);
}

std::vector<DeclaredLabel> declared_labels(const std::vector<InputComponent>& components) {
  std::vector<DeclaredLabel> labels;
  for (const InputComponent& c : components)
    if (c.label && !is_only_an_id(components, c)) labels.push_back({c.name, c.dtype, c.dims, c.classes});
  return labels;
}

const belay_input_service* input_service() noexcept { return &kInputService; }

}  // namespace belay::runtime
