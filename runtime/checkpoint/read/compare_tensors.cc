// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/read/compare_tensors.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

struct Line {
  std::string kind, name, text;
};

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('/') + 1); }

// Returns the probable saved name of `missing`. None of `unused` is suggested twice. `comparisons` limits the
// comparisons of names, which would not end with 100,000 names.
std::string former_name(const TensorInfo& missing, std::vector<const TensorInfo*>& unused, std::size_t& comparisons) {
  if (unused.size() > comparisons) return "";
  comparisons -= unused.size();
  std::vector<std::string> same_form;
  for (const TensorInfo* t : unused)
    if (t->dtype == missing.dtype && t->dims == missing.dims) same_form.push_back(t->name);
  if (same_form.empty()) return "";
  std::string best = nearest(missing.name, same_form);
  if (best.empty()) {
    const auto same_end = std::find_if(same_form.begin(), same_form.end(), [&](const std::string& name) {
      return last_part(name) == last_part(missing.name);
    });
    if (same_end != same_form.end()) best = *same_end;
    if (best.empty() && same_form.size() == 1) best = same_form.front();
  }
  std::erase_if(unused, [&](const TensorInfo* t) { return t->name == best; });
  return best;
}

std::string table(const std::vector<Line>& lines) {
  constexpr std::size_t kMostShown = 1000;
  const std::size_t shown = std::min(lines.size(), kMostShown);
  std::size_t width = 0;
  for (std::size_t i = 0; i < shown; ++i) width = std::max(width, display_width(escaped(lines[i].name)));
  std::string text;
  for (std::size_t i = 0; i < shown; ++i) {
    const Line& line = lines[i];
    const std::string name = escaped(line.name);
    text += "  " + line.kind + std::string(10 - line.kind.size(), ' ') + name +
            std::string(width + 2 - display_width(name), ' ') + line.text + "\n";
  }
  if (shown < lines.size()) text += fmt::format("  ... and {} more\n", lines.size() - shown);
  if (!text.empty()) text.pop_back();
  return text;
}

// Sorted by name.
std::vector<Line> differences(const std::vector<TensorInfo>& graph, const std::vector<TensorInfo>& checkpoint) {
  std::map<std::string_view, const TensorInfo*> stored, wanted;
  for (const TensorInfo& t : checkpoint) stored[t.name] = &t;
  for (const TensorInfo& t : graph) wanted[t.name] = &t;
  std::size_t comparisons = 1'000'000;
  std::vector<const TensorInfo*> unused;
  std::vector<Line> lines;
  for (const auto& [name, t] : stored) {
    if (wanted.contains(name)) continue;
    unused.push_back(t);
    lines.push_back({"extra", t->name, form_text(*t)});
  }
  for (const auto& [name, t] : wanted) {
    const auto at = stored.find(name);
    if (at == stored.end()) {
      const std::string former = former_name(*t, unused, comparisons);
      lines.push_back(
          {"missing", t->name, form_text(*t) + (former.empty() ? "" : "; saved as '" + escaped(former) + "'?")});
      continue;
    }
    const TensorInfo& s = *at->second;
    if (s.dtype != t->dtype)
      lines.push_back(
          {"re-typed", t->name,
           std::string(dtype_name(t->dtype)) + " in the graph, " + dtype_name(s.dtype) + " in the checkpoint"});
    if (s.dims != t->dims)
      lines.push_back(
          {"reshaped", t->name, form_text(*t) + " in the graph, " + dims_text(s.dims) + " in the checkpoint"});
  }
  std::stable_sort(lines.begin(), lines.end(), [](const Line& a, const Line& b) { return a.name < b.name; });
  return lines;
}

[[noreturn]] void refuse(const StoredTensors& checkpoint, const std::string& differences, const std::string& advice) {
  throw RestoreError(Code::kFailedPrecondition,
                     fmt::format("[B4032] the checkpoint '{}' does not fit this model:\n{}\n{}",
                                 escaped(checkpoint.path()), differences, advice));
}

}  // namespace

std::string tensor_differences(const std::vector<TensorInfo>& graph, const std::vector<TensorInfo>& checkpoint) {
  return table(differences(graph, checkpoint));
}

void check_fits(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph) {
  const std::string different = tensor_differences(graph, checkpoint.tensors());
  if (different.empty()) return;
  refuse(
      checkpoint, different,
      "to take a part of it, begin in another directory with [scaffold] init_fn = [{ plugin = \"warm_start\", from = "
      "\"" +
          escaped(checkpoint.path()) + "\" }]");
}

void check_holds(const StoredTensors& checkpoint, const std::vector<TensorInfo>& graph) {
  std::vector<Line> lines = differences(graph, checkpoint.tensors());
  std::erase_if(lines, [](const Line& line) { return line.kind == "extra"; });
  if (lines.empty()) return;
  refuse(checkpoint, table(lines),
         "it is of another model, or of other options of this one: use those with which it was trained");
}

}  // namespace belay::runtime
