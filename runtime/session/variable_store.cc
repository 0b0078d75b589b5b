// SPDX-License-Identifier: Apache-2.0
#include "runtime/session/variable_store.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "runtime/platform/memory/memory.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

std::string described(DType dtype, const Dims& dims) { return std::string(dtype_name(dtype)) + " " + dims_text(dims); }

}  // namespace

Variable& VariableStore::find_or_create(const std::string& name, DType dtype, const Dims& dims, bool trainable) {
  const std::lock_guard lock(mutex_);
  std::unique_ptr<Variable>& slot = variables_[name];
  if (slot == nullptr) {
    slot = std::make_unique<Variable>();
    slot->name = name;
    slot->trainable = trainable;
    slot->value = DenseTensor(dtype, dims);
    std::memset(slot->value.data(), 0, slot->value.bytes());
    if (trainable && dtype == DType::kFloat32)
      slot->looked_at =
          static_cast<std::uint32_t>(std::min<std::int64_t>(slot->value.elements(), Variable::kMostLookedAt));
  } else if (slot->value.dtype() != dtype || slot->value.dims() != dims) {
    fail(Code::kInvalidArgument, "[B5075] variable '" + name + "' is " + described(dtype, dims) +
                                     " in this graph, but the store has " +
                                     described(slot->value.dtype(), slot->value.dims()));
  }
  return *slot;
}

Variable* VariableStore::find(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto it = variables_.find(name);
  return it == variables_.end() ? nullptr : it->second.get();
}

std::vector<Variable*> VariableStore::all() {
  const std::lock_guard lock(mutex_);
  std::vector<Variable*> out;
  for (const auto& [name, variable] : variables_) out.push_back(variable.get());
  return out;
}

void VariableStore::assign(const std::string& name, const TensorView& value) {
  Variable* v = find(name);
  if (v == nullptr) {
    std::vector<std::string> names;
    for (const Variable* other : all()) names.push_back(other->name);
    fail(Code::kNotFound, "[B5074] there is no variable '" + escaped(name) + "'" + did_you_mean(name, names));
  }
  if (value.dtype() != v->value.dtype() || value.dims() != v->value.dims())
    fail(Code::kInvalidArgument, "[B5075] variable '" + name + "' is " + described(v->value.dtype(), v->value.dims()) +
                                     ", the value is " + described(value.dtype(), value.dims()));
  const std::unique_lock gate(gate_);
  if (value.bytes() != 0) std::memcpy(v->value.data(), value.data(), value.bytes());
  v->initialized = true;
  ++v->version;
  ++v->assigned;
}

std::optional<Position>* VariableStore::position_slot(const std::string& input) {
  const std::unique_lock gate(gate_);
  return &positions_[input];
}

std::map<std::string, Position> VariableStore::positions() {
  const std::shared_lock gate(gate_);
  std::map<std::string, Position> out;
  for (const auto& [input, position] : positions_)
    if (position) out[input] = *position;
  return out;
}

void VariableStore::replace_positions(const std::map<std::string, Position>& positions) {
  const std::unique_lock gate(gate_);
  for (auto& [input, position] : positions_) position.reset();
  for (const auto& [input, position] : positions) positions_[input] = position;
}

void VariableStore::mark_dirty(const std::string& why) {
  const std::lock_guard lock(mutex_);
  if (!dirty_) dirty_reason_ = why;
  dirty_ = true;
}

std::string VariableStore::dirty_reason() {
  const std::lock_guard lock(mutex_);
  return dirty_reason_;
}

void VariableStore::mark_clean() {
  const std::lock_guard lock(mutex_);
  dirty_ = false;
  dirty_reason_.clear();
}

namespace {

// Returns false if the memory exists already.
bool take_memory(const std::vector<Variable*>& variables, Snapshot& into) {
  if (into.names.size() == variables.size()) return false;
  into.names.clear();
  into.values.clear();
  for (const Variable* v : variables) {
    into.names.push_back(v->name);
    into.values.emplace_back(v->value.dtype(), v->value.dims());
  }
  return true;
}

}  // namespace

void make_room(const std::vector<Variable*>& variables, Snapshot& into) {
  if (!take_memory(variables, into)) return;
  for (DenseTensor& value : into.values)
    if (value.bytes() != 0) std::memset(value.data(), 0, value.bytes());
}

void VariableStore::snapshot(const std::vector<Variable*>& variables, Snapshot& into) {
  take_memory(variables, into);
  const std::shared_lock gate(gate_);
  if (dirty_)
    fail(Code::kFailedPrecondition, "[B5079] the variables are not of one step and cannot be saved: " + dirty_reason());
  for (std::size_t i = 0; i < variables.size(); ++i) {
    const Variable& v = *variables[i];
    if (!v.initialized)
      fail(Code::kFailedPrecondition, "[B5073] variable '" + v.name + "' is not initialized and cannot be saved");
    copy_past_caches(into.values[i].data(), v.value.data(), v.value.bytes());
  }
  into.positions.clear();
  for (const auto& [input, position] : positions_)
    if (position) into.positions[input] = *position;
}

std::shared_ptr<VariableStore> StoreTargets::open(const std::string& target) {
  if (target.empty()) return std::make_shared<VariableStore>();
  if (target.rfind("local:", 0) != 0 || target.size() == 6)
    fail(Code::kInvalidArgument,
         "[B5080] '" + escaped(target) +
             "' is no session target: use \"\" (a store for this session alone) or \"local:NAME\"");
  const std::lock_guard lock(mutex_);
  std::weak_ptr<VariableStore>& slot = stores_[target];
  std::shared_ptr<VariableStore> store = slot.lock();
  if (store == nullptr) slot = store = std::make_shared<VariableStore>();
  return store;
}

}  // namespace belay::runtime
