// SPDX-License-Identifier: Apache-2.0
#include "runtime/reduce/reduction.h"

#include <fmt/core.h>

#include <algorithm>
#include <variant>

#include "runtime/reduce/delta_debugging.h"

namespace belay::runtime {
namespace {

constexpr int kMostRounds = 4;

// The path of a value: "model", "layers", "2", "units".
using Path = std::vector<std::string>;

std::string text(const Path& path) {
  std::string out;
  for (const std::string& part : path) out += (out.empty() ? "" : ".") + part;
  return out;
}

TomlNode* at(TomlTable& table, const Path& path) {
  TomlEntry* entry = path.empty() ? nullptr : find(table, path.front());
  TomlNode* node = entry == nullptr ? nullptr : &entry->node;
  for (std::size_t i = 1; node != nullptr && i < path.size(); ++i) {
    if (auto* inner = std::get_if<TomlTable>(&node->value)) {
      entry = find(*inner, path[i]);
      node = entry == nullptr ? nullptr : &entry->node;
    } else if (auto* list = std::get_if<TomlList>(&node->value)) {
      const std::size_t index = std::stoul(path[i]);
      node = index < list->size() ? &(*list)[index] : nullptr;
    } else {
      node = nullptr;
    }
  }
  return node;
}

// Calls `use` for each value below, depth first, with tables and lists before their content.
void each(const TomlNode& node, const Path& path, const std::function<void(const Path&, const TomlNode&)>& use) {
  use(path, node);
  const auto inner = [&](const std::string& key, const TomlNode& value) {
    Path longer = path;
    longer.push_back(key);
    each(value, longer, use);
  };
  if (const auto* table = std::get_if<TomlTable>(&node.value))
    for (const TomlEntry& e : *table) inner(e.key, e.node);
  if (const auto* list = std::get_if<TomlList>(&node.value))
    for (std::size_t i = 0; i < list->size(); ++i) inner(std::to_string(i), (*list)[i]);
}

bool holds_tables(const TomlNode& node) {
  const auto* list = std::get_if<TomlList>(&node.value);
  return list != nullptr && std::any_of(list->begin(), list->end(),
                                        [](const TomlNode& n) { return std::holds_alternative<TomlTable>(n.value); });
}

// Keys that name a plugin, and the case's own keys, are not tried.
bool is_asked(const Path& path) {
  if (path.size() > 1 && path[0] == "input" && path[1] == "train") return false;
  if (path.front() == "run" && (path.back() == "dir" || path.back() == "max_steps")) return false;
  const std::string& key = path.back();
  return key != "plugin" && key != "file" && key != "type" && !(path.front() == "optimizer" && key == "name");
}

// Returns the keys of tables, including tables in lists. A list of tables is searched; another list is one value.
std::vector<Path> keys_of(const TomlTable& manifest) {
  std::vector<Path> keys;
  for (const TomlEntry& top : manifest)
    each(top.node, {top.key}, [&](const Path& path, const TomlNode& node) {
      const bool in_list = path.back().find_first_not_of("0123456789") == std::string::npos;
      if (!std::holds_alternative<TomlTable>(node.value) && !holds_tables(node) && !in_list && is_asked(path))
        keys.push_back(path);
    });
  return keys;
}

void remove(TomlTable& manifest, const Path& path) {
  TomlTable* table = &manifest;
  if (path.size() > 1) {
    TomlNode* owner = at(manifest, Path(path.begin(), path.end() - 1));
    table = owner == nullptr ? nullptr : std::get_if<TomlTable>(&owner->value);
  }
  if (table != nullptr) std::erase_if(*table, [&](const TomlEntry& e) { return e.key == path.back(); });
}

void remove_empty_sections(TomlTable& table) {
  for (TomlEntry& e : table)
    if (auto* inner = std::get_if<TomlTable>(&e.node.value)) remove_empty_sections(*inner);
  std::erase_if(table, [](const TomlEntry& e) {
    const auto* inner = std::get_if<TomlTable>(&e.node.value);
    return inner != nullptr && inner->empty();
  });
}

std::vector<std::size_t> numbers(std::size_t count) {
  std::vector<std::size_t> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = i;
  return all;
}

class Reduction {
 public:
  Reduction(FailingCase whole, const ReductionOptions& options) : case_(std::move(whole)), options_(options) {}

  FailingCase run() {
    for (int round = 0; round < kMostRounds; ++round) {
      smaller_ = false;
      leave_out_start();
      leave_out_elements({"hooks"}, "hooks");
      leave_out_keys();
      keep_needed(&FailingCase::batches, "batches");
      leave_out_of_lists();
      keep_needed(&FailingCase::rows, "examples of a batch");
      make_numbers_smaller();
      if (!smaller_) break;
    }
    return std::move(case_);
  }

 private:
  bool fails(const FailingCase& candidate) const { return options_.fails(candidate); }
  void take(FailingCase candidate) {
    case_ = std::move(candidate);
    smaller_ = true;
  }
  void say(const std::string& what, std::size_t needed, std::size_t of) {
    options_.say(fmt::format("{}: {} of {} are needed", what, needed, of));
  }

  void leave_out_start() {
    if (!case_.warm_start) return;
    FailingCase candidate = case_;
    candidate.warm_start = false;
    if (!fails(candidate)) return;
    take(std::move(candidate));
    options_.say("the start from a checkpoint is not needed");
  }

  // Leaves out elements of the list at that path.
  void leave_out_elements(const Path& path, const std::string& name) {
    const TomlNode* node = at(case_.manifest, path);
    const auto* list = node == nullptr ? nullptr : std::get_if<TomlList>(&node->value);
    if (list == nullptr || list->empty()) return;
    const TomlList all = *list;
    const auto with = [&](const std::vector<std::size_t>& kept) {
      FailingCase candidate = case_;
      TomlList some;
      for (const std::size_t i : kept) some.push_back(all[i]);
      at(candidate.manifest, path)->value = std::move(some);
      return candidate;
    };
    const std::vector<std::size_t> needed = needed_elements<std::size_t>(
        numbers(all.size()), [&](const std::vector<std::size_t>& kept) { return fails(with(kept)); });
    if (needed.size() == all.size()) return;
    take(with(needed));
    say(name, needed.size(), all.size());
  }

  void leave_out_keys() {
    const std::vector<Path> all = keys_of(case_.manifest);
    const auto with = [&](const std::vector<Path>& kept) {
      FailingCase candidate = case_;
      for (const Path& path : all)
        if (std::find(kept.begin(), kept.end(), path) == kept.end()) remove(candidate.manifest, path);
      remove_empty_sections(candidate.manifest);
      return candidate;
    };
    const std::vector<Path> needed =
        needed_elements<Path>(all, [&](const std::vector<Path>& kept) { return fails(with(kept)); });
    if (needed.size() == all.size()) return;
    take(with(needed));
    say("keys of the manifest", needed.size(), all.size());
  }

  void keep_needed(std::vector<std::size_t> FailingCase::*part, const std::string& name) {
    const std::vector<std::size_t> all = case_.*part;
    if (all.size() < 2) return;
    const auto with = [&](const std::vector<std::size_t>& kept) {
      FailingCase candidate = case_;
      candidate.*part = kept;
      return candidate;
    };
    const std::vector<std::size_t> needed = needed_elements<std::size_t>(
        all, [&](const std::vector<std::size_t>& kept) { return !kept.empty() && fails(with(kept)); });
    if (needed.size() == all.size()) return;
    take(with(needed));
    say(name, needed.size(), all.size());
  }

  // Leaves out elements of the model's lists: its layers, under any key.
  void leave_out_of_lists() {
    const TomlEntry* model = find(case_.manifest, "model");
    if (model == nullptr) return;
    std::vector<Path> lists;
    each(model->node, {"model"}, [&](const Path& path, const TomlNode& node) {
      if (std::holds_alternative<TomlList>(node.value)) lists.push_back(path);
    });
    for (const Path& path : lists) leave_out_elements(path, text(path));
  }

  // Makes each number the smallest power of two that still fails.
  void make_numbers_smaller() {
    const TomlEntry* model = find(case_.manifest, "model");
    if (model == nullptr) return;
    std::vector<Path> places;
    each(model->node, {"model"}, [&](const Path& path, const TomlNode& node) {
      if (std::holds_alternative<std::int64_t>(node.value)) places.push_back(path);
    });
    for (const Path& path : places) {
      const std::int64_t now = std::get<std::int64_t>(at(case_.manifest, path)->value);
      for (std::int64_t less = 1; less < now; less *= 2) {
        FailingCase candidate = case_;
        at(candidate.manifest, path)->value = less;
        if (!fails(candidate)) continue;
        take(std::move(candidate));
        options_.say(fmt::format("{}: {} does instead of {}", text(path), less, now));
        break;
      }
    }
  }

  FailingCase case_;
  const ReductionOptions& options_;
  bool smaller_ = false;
};

}  // namespace

FailingCase reduced(FailingCase whole, const ReductionOptions& options) {
  return Reduction(std::move(whole), options).run();
}

}  // namespace belay::runtime
