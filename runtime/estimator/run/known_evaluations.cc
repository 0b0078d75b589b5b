// SPDX-License-Identifier: Apache-2.0
#include "runtime/estimator/run/known_evaluations.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "runtime/platform/files/crc32c.h"

namespace belay::runtime {
namespace {

using KnownJson = nlohmann::ordered_json;

constexpr std::string_view kEvaluationsName = "evaluations";
constexpr std::uint64_t kMostBytes = 1 << 20;

KnownJson as_json(const EvaluatedInput& evaluated) {
  KnownJson metrics = KnownJson::array();
  for (const auto& [name, value] : evaluated.result.metrics) metrics.push_back({name, value});
  KnownJson matrices = KnownJson::array();
  for (const auto& [name, value] : evaluated.result.matrices) {
    const TensorView v = value;
    KnownJson numbers = KnownJson::array();
    for (std::size_t i = 0; i < v.size(); ++i) numbers.push_back(v.number(i));
    matrices.push_back({name, v.dims(), std::move(numbers)});
  }
  return {{"input", evaluated.input},
          {"step", evaluated.result.global_step},
          {"examples", evaluated.result.examples},
          {"batches", evaluated.result.batches},
          {"metrics", std::move(metrics)},
          {"matrices", std::move(matrices)}};
}

EvaluatedInput from_json(const KnownJson& json) {
  EvaluatedInput evaluated;
  evaluated.input = json.at("input").get<std::string>();
  evaluated.result.global_step = json.at("step").get<std::int64_t>();
  evaluated.result.examples = json.at("examples").get<std::int64_t>();
  evaluated.result.batches = json.at("batches").get<std::int64_t>();
  for (const KnownJson& metric : json.at("metrics"))
    evaluated.result.metrics.emplace_back(metric.at(0).get<std::string>(), metric.at(1).get<double>());
  for (const KnownJson& matrix : json.value("matrices", KnownJson::array())) {
    Tensor value(DType::kFloat64, matrix.at(1).get<Dims>());
    const auto numbers = matrix.at(2).get<std::vector<double>>();
    if (numbers.size() != TensorView(value).size()) fail(Code::kDataLoss, "[B5041] a matrix of another size");
    std::copy(numbers.begin(), numbers.end(), value.data<double>());
    evaluated.result.matrices.emplace_back(matrix.at(0).get<std::string>(), std::move(value));
  }
  return evaluated;
}

}  // namespace

std::string evaluations_key(VariableStore& variables, std::string_view circumstances) {
  std::uint32_t weights = 0;
  std::uint64_t bytes = 0;
  for (const Variable* v : variables.all()) {
    if (!v->value) continue;
    weights = crc32c(v->name, weights);
    weights = crc32c(v->value.data(), v->value.bytes(), weights);
    bytes += v->value.bytes();
  }
  return fmt::format("{}-{}-{}-{}", crc_text(weights), bytes, crc_text(crc32c(circumstances)), circumstances.size());
}

std::optional<std::vector<EvaluatedInput>> read_evaluations(const OpenDirectory& run, const std::string& key) {
  try {
    if (!run.exists(kEvaluationsName)) return std::nullopt;
    const KnownJson json = KnownJson::parse(run.read(kEvaluationsName, kMostBytes));
    if (json.at("of").get<std::string>() != key) return std::nullopt;
    std::vector<EvaluatedInput> results;
    for (const KnownJson& input : json.at("inputs")) results.push_back(from_json(input));
    return results;
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

void keep_evaluations(OpenDirectory& run, const std::string& key, const std::vector<EvaluatedInput>& results) {
  KnownJson inputs = KnownJson::array();
  for (const EvaluatedInput& evaluated : results) {
    for (const auto& [name, value] : evaluated.result.metrics)
      if (!std::isfinite(value)) return;
    for (const auto& [name, value] : evaluated.result.matrices)
      for (std::size_t i = 0; i < TensorView(value).size(); ++i)
        if (!std::isfinite(TensorView(value).number(i))) return;
    inputs.push_back(as_json(evaluated));
  }
  run.replace(kEvaluationsName, KnownJson{{"of", key}, {"inputs", std::move(inputs)}}.dump() + "\n");
}

}  // namespace belay::runtime
