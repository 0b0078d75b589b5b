// SPDX-License-Identifier: Apache-2.0
#include "runtime/cli/results/checkpoint_report.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "belay/detail/parse_options.h"  // number_text
#include "belay/tensor_text.h"
#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/cli/text/text_table.h"
#include "runtime/data/schema.h"
#include "runtime/platform/text/coded_message.h"
#include "runtime/platform/text/terminal_text.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using Json = nlohmann::ordered_json;

void print_json(const Json& json, std::ostream& out) {
  out << shown_json(json.dump(2, ' ', false, Json::error_handler_t::replace)) << "\n";
}

constexpr std::int64_t kSecondNs = 1'000'000'000;

Json number_or_null(double x) { return std::isfinite(x) ? Json(x) : Json(nullptr); }

std::string dtype_text(DType dtype) { return dtype == DType::kInvalid ? "other" : dtype_name(dtype); }

Json json_of(const TensorInfo& t) { return {{"dtype", dtype_text(t.dtype)}, {"shape", t.dims}}; }

void set_problem(Json& json, const std::string& problem) {
  if (problem.empty()) return;
  CodedMessage coded = take_code(problem);
  if (!coded.code.empty()) json["code"] = std::move(coded.code);
  json["problem"] = std::move(coded.text);
}

// ---- ls ----

std::string best_text(const ListedStored& c, const std::string& metric) {
  if (c.best_rank == 0) return "";
  return fmt::format("#{} {} {}", c.best_rank, metric, detail::number_text(c.best_value));
}

std::string restorable_text(const ListedStored& c) {
  if (!c.is_checkpoint) return "";
  return c.problem.empty() ? c.current ? "yes, current" : "yes" : "no: " + shown_code(c.problem);
}

Json json_of(const ListedStored& c, const std::string& metric) {
  Json json{{"name", c.name}, {"path", c.path}};
  json["step"] = c.step ? Json(*c.step) : Json(nullptr);
  json["saved"] = static_cast<double>(c.saved_ns) / static_cast<double>(kSecondNs);
  json["bytes"] = c.bytes;
  json["saver"] = c.saver;
  if (!c.is_checkpoint) return json;
  json["pinned"] = c.pinned;
  if (c.best_rank != 0) json["best"] = {{"rank", c.best_rank}, {"metric", metric}, {"value", c.best_value}};
  json["current"] = c.current;
  json["restorable"] = c.problem.empty();
  set_problem(json, c.problem);
  return json;
}

// ---- diff ----

std::string form_difference(const StoredDifference& d) {
  if (!d.b) return "only in the first   " + form_text(*d.a);
  if (!d.a) return "only in the second  " + form_text(*d.b);
  return form_text(*d.a) + " in the first, " + form_text(*d.b) + " in the second";
}

std::string value_difference(const StoredDifference& d) {
  return fmt::format("{}: {} of {} elements differ, first {}: {}, {}; largest difference {} at {}", form_text(*d.a),
                     d.values->count, *byte_size(d.a->dtype, d.a->dims) / dtype_size(d.a->dtype), d.position, d.a_text,
                     d.b_text, rounded_text(d.values->largest), d.largest_position);
}

Json json_of(const StoredDifference& d) {
  Json json{{"name", d.name}};
  json["first"] = d.a ? json_of(*d.a) : Json(nullptr);
  json["second"] = d.b ? json_of(*d.b) : Json(nullptr);
  if (!d.values) return json;
  json["values"] = {{"different", d.values->count},
                    {"first_at", d.position},
                    {"first", d.a_text},
                    {"second", d.b_text},
                    {"largest", number_or_null(d.values->largest)},
                    {"largest_at", d.largest_position}};
  return json;
}

// An element as JSON: a number with all of its digits, or null.
Json json_element(const TensorView& t, std::uint64_t i) {
  switch (t.dtype()) {
    case DType::kBool: return t.number(i) != 0;
    case DType::kInt64: return t.data<const std::int64_t>()[i];
    case DType::kInt32:
    case DType::kUInt8: return static_cast<std::int64_t>(t.number(i));
    default: return std::isfinite(t.number(i)) ? Json::parse(element_text(t, i)) : Json(nullptr);
  }
}

}  // namespace

void print_list(const StoredList& list, std::int64_t now_ns, bool json, std::ostream& out) {
  if (json) {
    Json all = Json::array();
    for (const ListedStored& c : list.all) all.push_back(json_of(c, list.best_metric));
    return print_json(all, out);
  }
  TextTable table;
  table.add({"checkpoint", "step", "age", "size", "saver", "pinned", "best", "restorable"});
  for (const ListedStored& c : list.all)
    table.add({c.name, c.step ? std::to_string(*c.step) : "", age_text(now_ns - c.saved_ns), bytes_text(c.bytes),
               c.saver, c.pinned ? "pinned" : "", best_text(c, list.best_metric), restorable_text(c)});
  out << table.text("");
}

ShownTensor shown(const NamedTensor& tensor) {
  const TensorView view(tensor.tensor);
  ShownTensor found{{tensor.name, view.dtype(), view.dims()}, statistics_of(view)};
  if (found.statistics->min_at) found.min = element_text(view, *found.statistics->min_at);
  if (found.statistics->max_at) found.max = element_text(view, *found.statistics->max_at);
  return found;
}

void print_shown(const ShownStored& stored, bool json, std::ostream& out) {
  if (json) {
    Json all{{"path", stored.path}};
    all["step"] = stored.step ? Json(*stored.step) : Json(nullptr);
    all["saver"] = stored.saver;
    if (!stored.digest.empty()) all["digest"] = stored.digest;
    if (!stored.schema.empty()) all["schema"] = Json::parse(stored.schema, nullptr, false);
    all["tensors"] = Json::array();
    for (const ShownTensor& t : stored.tensors) {
      Json one{{"name", t.info.name}};
      one.update(json_of(t.info));
      if (!t.min.empty()) {
        const bool is_bool = t.info.dtype == DType::kBool;
        one["min"] = is_bool ? Json(t.min == "true") : Json::parse(t.min);
        one["max"] = is_bool ? Json(t.max == "true") : Json::parse(t.max);
        one["mean"] = number_or_null(t.statistics->mean);
      }
      if (t.statistics) one["non_finite"] = t.statistics->non_finite;
      all["tensors"].push_back(std::move(one));
    }
    return print_json(all, out);
  }
  out << escaped(stored.path) << "\n  " << (stored.step ? fmt::format("step {}, ", *stored.step) : "") << "saver "
      << escaped(stored.saver) << ", " << count_text(stored.tensors.size(), "tensor")
      << (stored.digest.empty() ? "" : ", digest " + stored.digest) << "\n";
  if (!stored.schema.empty())
    for (const auto& [what, words] : schema_rows(parse_schema(stored.schema)))
      out << "  " << escaped(what) << ": " << escaped(words) << "\n";
  TextTable table;
  table.add({"tensor", "type", "shape", "min", "max", "mean", "not finite"});
  for (const ShownTensor& t : stored.tensors)
    table.add({t.info.name, dtype_text(t.info.dtype), dims_text(t.info.dims), t.min, t.max,
               t.min.empty() ? "" : rounded_text(t.statistics->mean),
               t.statistics && t.statistics->non_finite != 0 ? std::to_string(t.statistics->non_finite) : ""});
  out << table.text("  ");
}

void print_values(const NamedTensor& tensor, bool json, std::ostream& out) {
  const TensorView view(tensor.tensor);
  const TensorInfo info{tensor.name, view.dtype(), view.dims()};
  if (!json) {
    out << escaped(tensor.name) << "  " << form_text(info) << "\n";
    const std::uint64_t row = view.rank() == 0 ? 1 : static_cast<std::uint64_t>(view.dim(view.rank() - 1));
    for (std::uint64_t i = 0; i < view.size(); ++i) out << element_text(view, i) << ((i + 1) % row == 0 ? "\n" : " ");
    return;
  }
  Json one{{"name", tensor.name}};
  one.update(json_of(info));
  // It prints line by line, and does not keep all of it as JSON in memory.
  std::string head = shown_json(one.dump(-1, ' ', false, Json::error_handler_t::replace));
  head.pop_back();
  out << head << ",\"values\":[";
  for (std::uint64_t i = 0; i < view.size(); ++i) out << (i == 0 ? "" : ",") << json_element(view, i).dump();
  out << "]}\n";
}

void print_differences(const std::vector<StoredDifference>& differences, const ComparedStored& sums, bool json,
                       std::ostream& out) {
  if (json) {
    Json all{{"equal", sums.equal}, {"different", sums.different}, {"unread", sums.unread}};
    all["differences"] = Json::array();
    for (const StoredDifference& d : differences) all["differences"].push_back(json_of(d));
    return print_json(all, out);
  }
  TextTable table;
  for (const StoredDifference& d : differences)
    table.add({d.name, d.values ? value_difference(d) : form_difference(d)});
  out << table.text("") << count_text(sums.equal, "tensor") << " equal, " << sums.different << " different"
      << (sums.unread == 0 ? "" : fmt::format(", {} of a type that belay does not read", sums.unread)) << "\n";
}

void print_verified(const std::vector<VerifiedStored>& all, bool json, std::ostream& out) {
  if (json) {
    Json list = Json::array();
    for (const VerifiedStored& v : all) {
      Json one{{"path", v.path}, {"whole", v.problem.empty()}, {"tensors", v.tensors}, {"bytes", v.bytes}};
      if (!v.digest.empty()) one["digest"] = v.digest;
      set_problem(one, v.problem);
      if (!v.unread.empty()) one["unread"] = v.unread;
      list.push_back(std::move(one));
    }
    return print_json(list, out);
  }
  TextTable table;
  for (const VerifiedStored& v : all)
    table.add({v.path, v.problem.empty() ? "whole" : "damaged",
               v.problem.empty()
                   ? count_text(v.tensors, "tensor") + ", " + bytes_text(v.bytes) +
                         (v.digest.empty() ? "" : ", digest " + v.digest) + (v.unread.empty() ? "" : "; " + v.unread)
                   : shown_code(v.problem)});
  const auto damaged = std::count_if(all.begin(), all.end(), [](const auto& v) { return !v.problem.empty(); });
  out << table.text("") << all.size() << " looked at, " << damaged << " damaged\n";
}

void print_copied(const CopiedStored& copied, bool json, std::ostream& out) {
  if (json)
    return print_json({{"path", copied.path},
                       {"saver", copied.saver},
                       {"tensors", copied.tensors},
                       {"bytes", copied.bytes},
                       {"left_out", copied.left_out}},
                      out);
  out << escaped(copied.path) << ": " << count_text(copied.tensors, "tensor") << ", " << bytes_text(copied.bytes)
      << ", by " << escaped(copied.saver) << "\n";
}

void print_change(const std::string& what, const std::string& path, bool json, std::ostream& out) {
  if (json) return print_json({{"path", path}, {"done", what}}, out);
  out << what << " " << escaped(path) << "\n";
}

}  // namespace belay::runtime
