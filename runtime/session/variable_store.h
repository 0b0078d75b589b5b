// SPDX-License-Identifier: Apache-2.0
// Variables' values, outside any graph: sessions, savers, init functions and evaluation act on a store.
//
// Dense, row-major, 64-byte aligned, in the variable's own dtype. Every write happens under the gate held exclusively,
// at the end of a run, together with the input positions that the run consumed; so a snapshot, taken under the shared
// gate, is one moment of both. [any thread]
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
  DenseTensor value;  // the elements change under the exclusive gate only
  std::atomic<bool> initialized{false};
  Version version{0};   // counts commits that wrote it, and assignments
  Version assigned{0};  // counts assignments: values from outside a graph
  // Whether the first elements, as many as fill a cache line, are finite; true for all but trainable float32. A
  // gradient with NaN seldom spares them: it comes out of products, which spread it over rows or columns. Costs a
  // commit next to nothing.
  bool begins_finite() const noexcept {
    std::uint32_t bad = 0;
    const auto* bits = static_cast<const std::uint32_t*>(value.data());
    for (std::uint32_t i = 0; i < looked_at; ++i) bad |= (bits[i] & kExponent) == kExponent ? 1 : 0;
    return bad == 0;
  }
  static constexpr std::uint32_t kExponent = 0x7f800000, kMostLookedAt = 16;
  std::uint32_t looked_at = 0;
};

// A copy of a store at one moment, in memory that the next snapshot uses again.
struct Snapshot {
  std::vector<std::string> names;
  std::vector<DenseTensor> values;
  std::map<std::string, Position> positions;
};

// Memory for a snapshot of these variables, each page of it touched, so that the first one takes no longer than a copy;
// nothing where there is some already. Sessions of one graph have the same variables.
void make_room(const std::vector<Variable*>& variables, Snapshot& into);

class VariableStore {
 public:
  VariableStore() = default;
  VariableStore(const VariableStore&) = delete;
  VariableStore& operator=(const VariableStore&) = delete;

  // The variable of that name, made where it is new. One with another dtype or shape is INVALID_ARGUMENT naming both.
  // Stays at its address as long as the store.
  Variable& find_or_create(const std::string& name, DType dtype, const Dims& dims, bool trainable);
  Variable* find(const std::string& name);
  // Sorted by name.
  std::vector<Variable*> all();

  Gate& gate() noexcept { return gate_; }

  // Sets a value from outside a graph (restore, init functions), under the exclusive gate. NOT_FOUND with the nearest
  // name, INVALID_ARGUMENT with both dtypes and shapes.
  void assign(const std::string& name, const TensorView& value);

  // The position of each input: of the last batch whose step committed. The slot stays at its address as long as the
  // store and is written with the gate held exclusively.
  std::optional<Position>* position_slot(const std::string& input);
  std::map<std::string, Position> positions();
  void replace_positions(const std::map<std::string, Position>& positions);

  // A run that had to write before it blocked has failed halfway: the values are of no one step, never to be saved.
  void mark_dirty(const std::string& why);
  bool dirty() const noexcept { return dirty_.load(); }
  std::string dirty_reason();
  // After a restore.
  void mark_clean();

  // Copies these variables of the store. An uninitialized one is FAILED_PRECONDITION, a dirty store too. No allocation
  // but in the first.
  void snapshot(const std::vector<Variable*>& variables, Snapshot& into);

 private:
  Gate gate_;
  std::mutex mutex_;  // of the map and the reason
  std::map<std::string, std::unique_ptr<Variable>> variables_;
  std::map<std::string, std::optional<Position>> positions_;
  std::atomic<bool> dirty_{false};
  std::string dirty_reason_;
};

// Stores by target: "" is a new store for this session alone, "local:NAME" one that all sessions of the process with
// that target share as long as one of them lives. [any thread]
class StoreTargets {
 public:
  // Another form of target is INVALID_ARGUMENT.
  std::shared_ptr<VariableStore> open(const std::string& target);

 private:
  std::mutex mutex_;
  std::map<std::string, std::weak_ptr<VariableStore>> stores_;
};

}  // namespace belay::runtime
