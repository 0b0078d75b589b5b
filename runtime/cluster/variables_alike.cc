// SPDX-License-Identifier: Apache-2.0
#include "runtime/cluster/variables_alike.h"

#include <fmt/core.h>

#include <shared_mutex>
#include <sstream>

#include "belay/tensor_text.h"
#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

// Returns "name dtype d0,d1". A node's name has no space.
std::string line_of(const Variable& v) {
  return v.name + " " + dtype_name(v.value.dtype()) + " " + dims_text(v.value.dims()) + "\n";
}

}  // namespace

// The list comes from a worker, because a worker has no variables of hooks.
void VariablesAlike::list(RankGroup& group) {
  const int lists = group.size() > 1 ? 1 : 0;
  std::string mine;
  if (group.rank() == lists)
    for (const Variable* v : session_->variables()) mine += line_of(*v);
  std::istringstream lines(group.broadcast(mine, lists));
  variables_.clear();
  for (std::string line; std::getline(lines, line);) {
    const Variable* v = session_->store().find(line.substr(0, line.find(' ')));
    if (v == nullptr || line_of(*v) != line + "\n")
      fail(Code::kFailedPrecondition,
           fmt::format("[B5104] rank {} has no variable '{}', which rank 1 has: the models of the ranks differ",
                       group.rank(), line));
    variables_.push_back(v);
  }
}

void VariablesAlike::take_from(RankGroup& group, int from) {
  list(group);
  VariableStore& store = session_->store();
  const bool takes = group.rank() != from;
  if (takes) store.mark_dirty("another rank's variables are being taken");
  for (const Variable* v : variables_) {
    DenseTensor value = v->value.dtype() == DType::kString ? DenseTensor() : DenseTensor(TensorView(v->value.view()));
    if (!value)
      fail(Code::kUnimplemented, "[B5107] the variable '" + v->name + "' is a string, which ranks do not share yet");
    group.broadcast(TensorView(value.view()), from);
    if (takes) store.assign(v->name, TensorView(value.view()));
  }
}

void VariablesAlike::compare(RankGroup& group) const {
  std::vector<std::int64_t> mine;
  {
    const std::shared_lock gate(session_->store().gate());
    for (const Variable* v : variables_) mine.push_back(crc32c(v->value.data(), v->value.bytes()));
  }
  if (mine.empty()) return;
  const std::vector<std::int64_t> all = group.all_gather(mine);
  for (std::size_t i = 0; i < mine.size(); ++i)
    for (int r = 1; r < group.size(); ++r)
      if (all[static_cast<std::size_t>(r) * mine.size() + i] != all[i])
        fail(Code::kDataLoss, fmt::format("[B5104] the variable '{}' is not the same on rank {} and on rank 0 after "
                                          "step {}: what writes it, a hook for instance, must do so on all ranks",
                                          variables_[i]->name, r, session_->global_step()));
}

// ---- what hooks write ----

std::pair<std::int64_t, std::int64_t> VariablesAlike::writes() const {
  std::uint64_t written = 0, assigned = 0;
  for (const Variable* v : variables_) {
    written += v->version.load(std::memory_order_relaxed);
    assigned += v->assigned.load(std::memory_order_relaxed);
  }
  return {static_cast<std::int64_t>(written - written_), static_cast<std::int64_t>(assigned - assigned_)};
}

void VariablesAlike::note_alike() {
  written_ = assigned_ = 0;
  writes_.clear();
  for (const Variable* v : variables_) {
    writes_.emplace_back(v->version.load(std::memory_order_relaxed), v->assigned.load(std::memory_order_relaxed));
    written_ += writes_.back().first;
    assigned_ += writes_.back().second;
  }
}

// The values are assigned after all of them have arrived. So a rank that is lost meanwhile leaves no rank with only
// some of them.
void VariablesAlike::take_written(RankGroup& group) {
  std::vector<std::int64_t> mine;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    const auto& [written, assigned] = writes_[i];
    mine.push_back(static_cast<std::int64_t>(variables_[i]->version.load(std::memory_order_relaxed) - written));
    mine.push_back(static_cast<std::int64_t>(variables_[i]->assigned.load(std::memory_order_relaxed) - assigned));
  }
  const std::vector<std::int64_t> all = group.all_gather(mine);
  std::vector<std::pair<const Variable*, DenseTensor>> taken;
  for (std::size_t i = 0; i < variables_.size(); ++i) {
    bool alike = all[2 * i + 1] == 0;
    for (std::size_t r = 1; r < static_cast<std::size_t>(group.size()); ++r)
      alike = alike && all[r * mine.size() + 2 * i] == all[2 * i] && all[r * mine.size() + 2 * i + 1] == 0;
    if (alike) continue;
    const std::shared_lock gate(session_->store().gate());
    taken.emplace_back(variables_[i], DenseTensor(TensorView(variables_[i]->value.view())));
  }
  for (const auto& [variable, value] : taken) group.broadcast(TensorView(value.view()), 0);
  if (group.rank() != 0)
    for (const auto& [variable, value] : taken) session_->store().assign(variable->name, TensorView(value.view()));
  note_alike();
}

}  // namespace belay::runtime
