// SPDX-License-Identifier: Apache-2.0
// Checks an optimizer on the real engine, with synthetic variables and the gradients of the sum of their squares.
#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "belay/testing/optimizer_driver.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace optimizer_cases {

using belay::testing::OptimizerDriver;
using belay::testing::VariableGradients;

constexpr const char* kVariables[] = {"synthetic/kernel", "synthetic/bias"};
constexpr double kRate = 0.01;
constexpr const char* kTable = "synthetic/table";
constexpr std::int64_t kTableRows = 30, kTableWidth = 4;

template <class T>
std::unique_ptr<OptimizerDriver> built(const Subject& subject, int threads = 1) {
  auto optimizer = std::make_unique<OptimizerDriver>(subject.module, subject.options(), subject.info.name);
  std::vector<T> kernel;
  for (int i = 0; i < 300; ++i) kernel.push_back(static_cast<T>(std::sin(i + 1)));
  optimizer->variable(kVariables[0], Tensor({3, 100}, kernel));
  optimizer->variable(kVariables[1], Tensor({1}, {static_cast<T>(-2)}));
  optimizer->build(threads);
  return optimizer;
}

// For half the sum of squares, the gradient is the variable.
void steps(OptimizerDriver& optimizer, int n) {
  for (int i = 0; i < n; ++i) {
    VariableGradients gradients;
    for (const char* name : kVariables) gradients[name] = optimizer.value(name);
    optimizer.step(gradients, kRate);
  }
}

double sum_of_squares(const OptimizerDriver& optimizer) {
  double sum = 0;
  for (const char* name : kVariables)
    for (const double x : optimizer.values(name)) sum += x * x;
  return sum;
}

std::vector<std::string> kept_by(const OptimizerDriver& optimizer) {
  std::vector<std::string> names = optimizer.slots();
  names.insert(names.end(), std::begin(kVariables), std::end(kVariables));
  return names;
}

// Returns the first difference. Empty: all variables and slots have the same bits.
std::string difference(const OptimizerDriver& a, const OptimizerDriver& b) {
  for (const std::string& name : kept_by(a))
    if (a.values(name) != b.values(name)) return name;
  return "";
}

void options(const Subject& subject) { options_can_be_given(subject, "optimizer"); }

void builds(const Subject& subject) {
  must_succeed("building for float32 variables", [&] { built<float>(subject); });
  must_succeed("building for float64 variables", [&] { built<double>(subject); });
}

// A checkpoint finds its values by names. So these must not depend on the number of builds.
void names_its_slots(const Subject& subject) {
  must_succeed("building it", [&] {
    const auto first = built<float>(subject), second = built<float>(subject);
    if (first->slots() != second->slots()) throw CheckFailed("built twice, its variables have other names");
    for (const std::string& name : first->slots())
      if (name.rfind("train/", 0) == 0)
        throw CheckFailed("its variable " + name + " is made in prepare, apply or finish; make it in create_slots");
  });
}

template <class T>
void lowers_a_loss(const Subject& subject) {
  must_succeed("steps on a sum of squares", [&] {
    const auto optimizer = built<T>(subject);
    const double before = sum_of_squares(*optimizer);
    steps(*optimizer, 20);
    const double after = sum_of_squares(*optimizer);
    if (!(after < before))
      throw CheckFailed("twenty steps did not lower a sum of squares: " + detail::number_text(before) + " before, " +
                        detail::number_text(after) + " after");
    if (optimizer->global_step() != 20) throw CheckFailed("it changes the global step, which is the host's");
  });
}

void same_again(const Subject& subject) {
  must_succeed("steps on a sum of squares", [&] {
    const auto first = built<float>(subject), second = built<float>(subject);
    steps(*first, 5);
    steps(*second, 5);
    if (const std::string other = difference(*first, *second); !other.empty())
      throw CheckFailed("the same steps made another " + other);
  });
}

// All its data is in variables, so a checkpoint's values continue as if nothing had happened.
void resumes(const Subject& subject) {
  must_succeed("steps on a sum of squares", [&] {
    const auto whole = built<float>(subject), resumed = built<float>(subject);
    steps(*whole, 5);
    for (const std::string& name : kept_by(*whole)) resumed->set_value(name, whole->value(name));
    resumed->set_value("global_step", whole->value("global_step"));
    steps(*whole, 5);
    steps(*resumed, 5);
    if (const std::string other = difference(*whole, *resumed); !other.empty())
      throw CheckFailed("restored from its variables after 5 steps it makes another " + other +
                        " than without the interruption; what it keeps must be in variables of create_slots");
  });
}

void zero_gradients(const Subject& subject) {
  must_succeed("steps with gradients of 0", [&] {
    const auto optimizer = built<float>(subject);
    for (int i = 0; i < 3; ++i) {
      VariableGradients gradients;
      gradients[kVariables[0]] = Tensor(DType::kFloat32, {3, 100});
      gradients[kVariables[1]] = Tensor(DType::kFloat32, {1});
      optimizer->step(gradients, kRate);
    }
    for (const std::string& name : kept_by(*optimizer))
      for (const double x : optimizer->values(name))
        if (!std::isfinite(x)) throw CheckFailed("gradients of 0 make " + name + " not finite");
  });
}

// A table of 30 rows, whose gradient is dense or of rows.
std::unique_ptr<OptimizerDriver> built_with_table(const Subject& subject, bool sparse) {
  auto optimizer = std::make_unique<OptimizerDriver>(subject.module, subject.options(), subject.info.name);
  std::vector<float> table;
  for (int i = 0; i < kTableRows * kTableWidth; ++i) table.push_back(static_cast<float>(std::sin(i + 1)));
  const Tensor initial({kTableRows, kTableWidth}, table);
  sparse ? optimizer->sparse_variable(kTable, initial) : optimizer->variable(kTable, initial);
  optimizer->build();
  return optimizer;
}

// Makes one step of both forms by the same gradient.
void step_of_both(OptimizerDriver& sparse, OptimizerDriver& dense, const std::vector<std::int64_t>& ids) {
  const auto n = static_cast<std::int64_t>(ids.size());
  Tensor rows(DType::kFloat32, {n, kTableWidth}), whole(DType::kFloat32, {kTableRows, kTableWidth});
  for (std::int64_t i = 0; i < n * kTableWidth; ++i) {
    const auto gradient = static_cast<float>(std::cos(i + 1));
    rows.data<float>()[i] = gradient;
    whole.data<float>()[ids[static_cast<std::size_t>(i / kTableWidth)] * kTableWidth + i % kTableWidth] += gradient;
  }
  sparse.step({}, {{kTable, {ids, rows}}}, kRate);
  dense.step({{kTable, whole}}, kRate);
}

// The table, and the slots of its shape.
std::vector<std::string> tables_of(const OptimizerDriver& optimizer) {
  std::vector<std::string> names{kTable};
  for (const std::string& name : optimizer.slots())
    if (optimizer.value(name).dims() == Dims{kTableRows, kTableWidth}) names.push_back(name);
  return names;
}

using Values = std::map<std::string, std::vector<double>>;

Values values_of(const OptimizerDriver& optimizer) {
  Values values;
  for (const std::string& name : tables_of(optimizer)) values[name] = optimizer.values(name);
  return values;
}

bool is_near(double a, double b) {
  return a == b || std::abs(a - b) <= 1e-5 * std::max({1.0, std::abs(a), std::abs(b)});
}

// The rows of the ids are those of the dense form, and the others have the values `before`.
void check_rows(const OptimizerDriver& sparse, const OptimizerDriver& dense, const Values& before,
                const std::vector<std::int64_t>& ids) {
  for (const auto& [name, old] : before) {
    const std::vector<double> now = sparse.values(name), by_apply = dense.values(name);
    for (std::size_t i = 0; i < now.size(); ++i) {
      const auto row = static_cast<std::int64_t>(i) / kTableWidth;
      const bool used = std::find(ids.begin(), ids.end(), row) != ids.end();
      if (used && !is_near(now[i], by_apply[i]))
        throw CheckFailed(fmt::format(
            "apply_sparse makes another row {} of {} than apply does for the same gradient: {} instead of {}", row,
            name, detail::number_text(now[i]), detail::number_text(by_apply[i])));
      if (!used && now[i] != old[i])
        throw CheckFailed(
            fmt::format("apply_sparse changes row {} of {}, which has no gradient in the step; it must write the rows "
                        "of its indices alone",
                        row, name));
    }
  }
}

void sparse_gradients(const Subject& subject) {
  must_succeed("steps with sparse gradients", [&] {
    const auto sparse = built_with_table(subject, true), dense = built_with_table(subject, false);
    if (!sparse->takes_sparse(kTable)) return;
    const Values before = values_of(*sparse);
    // The same rows in each step, since the dense form may move rows that a step does not use.
    const std::vector<std::int64_t> ids{17, 3, 29, 3, 0};
    for (int i = 0; i < 3; ++i) step_of_both(*sparse, *dense, ids);
    check_rows(*sparse, *dense, before, ids);
    const Values after = values_of(*sparse);
    step_of_both(*sparse, *dense, {3, 3});
    check_rows(*sparse, *dense, after, {3});
  });
}

}  // namespace optimizer_cases

std::vector<Check> optimizer_checks() {
  using namespace optimizer_cases;
  return {{"create.host_keys", options},
          {"drive.builds", builds},
          {"drive.names_its_slots", names_its_slots},
          {"drive.lowers_a_loss", lowers_a_loss<float>},
          {"drive.float64", lowers_a_loss<double>},
          {"drive.same_again", same_again},
          {"drive.resumes", resumes},
          {"drive.sparse_gradients", sparse_gradients},
          {"faults.zero_gradients", zero_gradients}};
}

}  // namespace belay::runtime
