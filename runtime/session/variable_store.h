// SPDX-License-Identifier: Apache-2.0
// The values of variables, outside any graph. Sessions, savers, init functions and evaluation work on a store.
//
// Values are dense, row-major, 64-byte aligned, in the variable's dtype. Every write happens at the end of a run, under
// the exclusive gate. The run's input positions are written with it. A snapshot is taken under the shared gate. So it
// shows one moment of both. [any thread]
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "belay/input.h"
#include "runtime/graph/dense_tensor.h"
#include "runtime/graph/kernel.h"
#include "runtime/session/gate.h"

namespace belay::runtime {

struct Variable {
  std::string name;
  bool trainable = false;
  DenseTensor value;  // the elements change only under the exclusive gate
  std::atomic<bool> initialized{false};
  Version version{0};   // counts its commits and assignments
  Version assigned{0};  // counts assignments: values from outside a graph
  // True if the first elements, as many as fill a cache line, are finite. It is true for all but trainable float32. A
  // gradient with NaN seldom spares them, since products spread it over rows or columns. The check costs a commit next
  // to nothing.
  bool begins_finite() const noexcept {
    std::uint32_t bad = 0;
    const auto* bits = static_cast<const std::uint32_t*>(value.data());
    for (std::uint32_t i = 0; i < looked_at; ++i) bad |= (bits[i] & kExponent) == kExponent ? 1 : 0;
    return bad == 0;
  }
  static constexpr std::uint32_t kExponent = 0x7f800000, kMostLookedAt = 16;
  std::uint32_t looked_at = 0;
};

// A copy of a store at one moment. The next snapshot uses its memory again.
struct Snapshot {
  std::vector<std::string> names;
  std::vector<DenseTensor> values;
  std::map<std::string, Position> positions;
};

// Allocates memory for a snapshot of these variables and touches each page. So the first snapshot takes no longer than
// a copy. Does nothing if there is memory already. Sessions of one graph have the same variables.
void make_room(const std::vector<Variable*>& variables, Snapshot& into);

class VariableStore {
 public:
  VariableStore() = default;
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  // Returns the variable of this name, and makes it if it is new. INVALID_ARGUMENT names both: it has another dtype or
  // shape. Its address stays the same as long as the store lives.
  Variable& find_or_create(const std::string& name, DType dtype, const Dims& dims, bool trainable);
  Variable* find(const std::string& name);
  // They are sorted by name.
  std::vector<Variable*> all();

  Gate& gate() noexcept { return gate_; }

  // Sets a value from outside a graph (restore, init functions), under the exclusive gate. NOT_FOUND names the nearest
  // name, INVALID_ARGUMENT both dtypes and shapes.
  void assign(const std::string& name, const TensorView& value);

  // The position of each input after the last batch of a committed step. The slot's address stays the same as long as
  // the store lives. It is written under the exclusive gate.
  std::optional<Position>* position_slot(const std::string& input);
  std::map<std::string, Position> positions();
  void replace_positions(const std::map<std::string, Position>& positions);

  // A run that had to write before it waited has failed halfway. The values are of no single step, and must never be
  // saved.
  void mark_dirty(const std::string& why);
  bool dirty() const noexcept { return dirty_.load(); }
  std::string dirty_reason();
  // Call it after a restore.
  void mark_clean();

  // Copies these variables of the store. FAILED_PRECONDITION: one is not initialized, or the store is dirty. Only the
  // first snapshot allocates.
  void snapshot(const std::vector<Variable*>& variables, Snapshot& into);

 private:
  Gate gate_;
  std::mutex mutex_;  // guards the map and the reason
  std::map<std::string, std::unique_ptr<Variable>> variables_;
  std::map<std::string, std::optional<Position>> positions_;
  std::atomic<bool> dirty_{false};
  std::string dirty_reason_;
};

// Stores by target. "" is a new store for this session alone. "local:NAME" is shared by all sessions of the process
// with that target, as long as one of them lives. [any thread]
class StoreTargets {
 public:
  // INVALID_ARGUMENT: the target has another form.
  std::shared_ptr<VariableStore> open(const std::string& target);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<VariableStore>> stores_;
};

}  // namespace belay::runtime
