// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/results/bisect_report.h"

#include <fmt/core.h>

#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/cli/text/text_table.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using BisectJson = nlohmann::ordered_json;

constexpr std::size_t kNamed = 5;  // of a list that may be long

void add_values(const char* what, const std::vector<DifferingSetting>& values, std::string& text) {
  if (values.empty()) {
    text += std::string(what) + ": the same\n";
    return;
  }
  TextTable table;
  for (const DifferingSetting& v : values)
    table.add({v.key, v.a.empty() ? "not there" : v.a, v.b.empty() ? "not there" : v.b});
  text += std::string(what) + ", a and b:\n" + table.text("  ");
}

std::string in_words(ComparedInput::State state) {
  switch (state) {
    case ComparedInput::State::kEqual: return "equal";
    case ComparedInput::State::kDiffers: return "differs";
    default: return "not on both sides";
  }
}

std::string ops_text_of(const DifferingTensor& t) {
  return t.ops_a == t.ops_b ? t.ops_a : t.ops_a + " in a, " + t.ops_b + " in b";
}

std::string some_names(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kNamed; ++i) text += (i == 0 ? "" : ", ") + escaped(names[i]);
  return text + (names.size() > kNamed ? fmt::format(", and {} more", names.size() - kNamed) : "");
}

std::string tensor_text_of(const DifferingTensor& t) {
  std::string text = "  the first tensor that differs is " + single_quoted(t.known_name) + " (" + ops_text_of(t) + ")";
  if (t.form_a != t.form_b) return text + ": " + t.form_a + " in a, " + t.form_b + " in b\n";
  text += ", " + t.form_a + "\n  element " + t.position + ": " + t.a + " in a, " + t.b + " in b";
  if (t.ulps) text += fmt::format(", {}{} in the last place", *t.ulps, *t.ulps == 1 ? " unit" : " units");
  text += fmt::format("; {} of {}{}", t.differing, t.elements, t.differing == 1 ? " differs\n" : " differ\n");
  for (const ComparedInput& in : t.inputs)
    text += "  made from " + single_quoted(in.name) + ": " + in_words(in.state) + "\n";
  return text;
}

std::string step_text_of(const StepDifference& found) {
  std::string text = found.first
                         ? tensor_text_of(*found.first)
                         : "  every tensor that both have is equal: what differs, no tensor of the step shows\n";
  text += fmt::format("  {} tensors were compared, {} are equal", found.compared, found.equal);
  text += found.later.empty() ? "\n" : "; after the first, these differ too: " + some_names(found.later) + "\n";
  for (const bool of_a : {true, false}) {
    std::vector<std::string> names;
    for (const OneSidedTensor& t : found.one_sided)
      if (t.of_a == of_a) names.push_back(t.name);
    if (!names.empty())
      text += std::string("  only ") + (of_a ? "a" : "b") + " keeps " + some_names(names) +
              ": not compared, since the other plan is fused otherwise or has no such node\n";
  }
  return text;
}

std::string variables_text_of(const std::vector<StoredDifference>& variables) {
  TextTable table;
  for (std::size_t i = 0; i < variables.size() && i < kNamed; ++i) {
    const StoredDifference& v = variables[i];
    if (v.values)
      table.add({v.name, "element " + v.position, v.a_text, v.b_text});
    else
      table.add({v.name, "", v.a ? form_text(*v.a) : "not there", v.b ? form_text(*v.b) : "not there"});
  }
  return table.text("  ") +
         (variables.size() > kNamed ? fmt::format("  and {} variables more\n", variables.size() - kNamed) : "");
}

std::string end_text_of(const BisectReport& r) {
  const RunComparison& d = r.runs;
  if (r.step) return fmt::format("step {} is the first that differs\n{}", *r.step, step_text_of(*r.tensors));
  if (d.common_steps == 0) return "there is no step at which both have left a checkpoint or a digest\n";
  if (!d.last_equal)
    return fmt::format(
        "they differ at step {}, the first of which both have left something, so there is no equal step to replay "
        "from\n{}",
        *d.first_different, variables_text_of(r.variables));
  if (r.replayed_to && d.first_different)
    return fmt::format(
        "the replays are equal up to step {}, but the runs differ there: the cause of the difference does not exist "
        "any more (another build, another machine, a damaged memory)\n",
        *r.replayed_to);
  const std::int64_t equal_to = r.replayed_to.value_or(*d.last_equal);
  return fmt::format("they are equal up to step {}{}", equal_to,
                     d.last_step_a == d.last_step_b && equal_to == d.last_step_a ? ", the last of both\n"
                                                                                 : ", as far as both have come\n");
}

BisectJson values_json(const std::vector<DifferingSetting>& values) {
  BisectJson all = BisectJson::array();
  for (const DifferingSetting& v : values)
    all.push_back({{"key", v.key},
                   {"a", v.a.empty() ? BisectJson(nullptr) : BisectJson(v.a)},
                   {"b", v.b.empty() ? BisectJson(nullptr) : BisectJson(v.b)}});
  return all;
}

template <class T>
BisectJson or_null(const std::optional<T>& value) {
  return value ? BisectJson(*value) : BisectJson(nullptr);
}

BisectJson tensor_json(const DifferingTensor& t) {
  BisectJson inputs = BisectJson::array();
  for (const ComparedInput& in : t.inputs) inputs.push_back({{"name", in.name}, {"state", in_words(in.state)}});
  return {{"tensor", t.name},
          {"known_as", t.known_name},
          {"node", t.node},
          {"origin", t.origin},
          {"op_a", t.ops_a},
          {"op_b", t.ops_b},
          {"form_a", t.form_a},
          {"form_b", t.form_b},
          {"position", t.position},
          {"a", t.a},
          {"b", t.b},
          {"ulps", or_null(t.ulps)},
          {"differing", t.differing},
          {"elements", t.elements},
          {"inputs", std::move(inputs)}};
}

}  // namespace

std::string text_of(const BisectReport& r) {
  std::string text = "a is " + escaped(r.a) + ", b is " + escaped(r.b) + "\n";
  add_values("manifests", r.runs.manifest, text);
  add_values("plugins", r.runs.plugins, text);
  add_values("fingerprints", r.runs.fingerprint, text);
  if (r.runs.last_equal)
    text += fmt::format(
        "step {} is the last that is known to be equal{}\n", *r.runs.last_equal,
        r.runs.first_different ? ", step " + std::to_string(*r.runs.first_different) + " is known to differ" : "");
  if (r.replayed_from)
    text += fmt::format("replayed: steps {} to {} of each, with a digest a step\n", *r.replayed_from, *r.replayed_to);
  for (const std::string& side : r.unproved)
    text += "the replay of " + side + " did not come to the bits of that run: what follows is of the replay\n";
  return text + end_text_of(r);
}

std::string json_of(const BisectReport& r) {
  BisectJson all = {{"a", r.a},
                    {"b", r.b},
                    {"manifest", values_json(r.runs.manifest)},
                    {"plugins", values_json(r.runs.plugins)},
                    {"fingerprint", values_json(r.runs.fingerprint)},
                    {"last_equal", or_null(r.runs.last_equal)},
                    {"first_known_to_differ", or_null(r.runs.first_different)},
                    {"replayed_from", or_null(r.replayed_from)},
                    {"replayed_to", or_null(r.replayed_to)},
                    {"unproved", r.unproved},
                    {"step", or_null(r.step)},
                    {"difference", nullptr}};
  BisectJson variables = BisectJson::array();
  for (const StoredDifference& v : r.variables) variables.push_back(v.name);
  all["differing_variables"] = std::move(variables);
  if (r.tensors) {
    if (r.tensors->first) all["difference"] = tensor_json(*r.tensors->first);
    all["compared"] = r.tensors->compared;
    all["equal"] = r.tensors->equal;
    all["later"] = r.tensors->later;
    BisectJson one_sided = BisectJson::array();
    for (const OneSidedTensor& t : r.tensors->one_sided)
      one_sided.push_back({{"tensor", t.name}, {"ops", t.ops}, {"side", t.of_a ? "a" : "b"}});
    all["not_compared"] = std::move(one_sided);
  }
  return shown_json(all.dump(1, ' ', false, BisectJson::error_handler_t::replace)) + "\n";
}

}  // namespace belay::runtime
