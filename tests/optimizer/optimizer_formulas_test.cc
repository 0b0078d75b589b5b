// SPDX-License-Identifier: Apache-2.0
// Every optimizer against a plain loop in float64, for several steps: alone in float64, and in float32 for several
// variables in one fused pass.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "plugins/default_plugins.h"
#include "runtime/optimizer/optimizer.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

constexpr double kRate = 0.125;  // exact in float32
constexpr int kSteps = 6;

// One element of a variable with its slots; step() changes it by its gradient.
struct Element {
  double x;
  double a, b, c;  // slots
};
using Formula = std::function<void(Element&, double gradient, int t)>;

struct OptimizerCase {
  const char* title;
  OptimizerSettings section;
  Element initial;  // slots
  Formula step;
  std::vector<std::pair<const char*, double Element::*>> slots;  // by the name of the variable's slot
};

void adam(Element& e, double g, int t, double decay) {
  e.a = 0.75 * e.a + 0.25 * g;
  e.b = 0.9375 * e.b + 0.0625 * g * g;
  const double rate = kRate * std::sqrt(1 - std::pow(0.9375, t)) / (1 - std::pow(0.75, t));
  e.x -= kRate * decay * e.x + rate * e.a / (std::sqrt(e.b) + 0.5);
}
std::vector<PluginOption> adam_options(double weight_decay = 0) {
  std::vector<PluginOption> options = {{"beta1", 0.75}, {"beta2", 0.9375}, {"epsilon", 0.5}};
  if (weight_decay > 0) options.push_back({"weight_decay", weight_decay});
  return options;
}

void ftrl(Element& e, double g, double l1, double l2, double power) {
  const double sum = e.a + g * g;
  e.b += g - (std::pow(sum, power) - std::pow(e.a, power)) / kRate * e.x;
  e.x = std::fabs(e.b) > l1 ? (std::copysign(l1, e.b) - e.b) / (std::pow(sum, power) / kRate + 2 * l2) : 0;
  e.a = sum;
}

const std::vector<OptimizerCase>& cases() {
  static const std::vector<OptimizerCase> all = {
      {"sgd", {.name = "sgd"}, {}, [](Element& e, double g, int) { e.x -= kRate * g; }, {}},
      {"momentum",
       {.name = "momentum"},
       {},
       [](Element& e, double g, int) {
         e.a = 0.9 * e.a + g;
         e.x -= kRate * e.a;
       },
       {{"Momentum", &Element::a}}},
      {"nesterov",
       {.name = "momentum", .options = {{"momentum", 0.5}, {"use_nesterov", true}}},
       {},
       [](Element& e, double g, int) {
         e.a = 0.5 * e.a + g;
         e.x -= kRate * g + kRate * 0.5 * e.a;
       },
       {{"Momentum", &Element::a}}},
      {"adagrad",
       {.name = "adagrad"},
       {0, 0.1, 0, 0},
       [](Element& e, double g, int) {
         e.a += g * g;
         e.x -= kRate * g / std::sqrt(e.a);
       },
       {{"Adagrad", &Element::a}}},
      {"rmsprop",
       {.name = "rmsprop"},
       {0, 1, 0, 0},
       [](Element& e, double g, int) {
         e.a = 0.9 * e.a + 0.1 * g * g;
         e.b = kRate * g / std::sqrt(e.a + 1e-10);
         e.x -= e.b;
       },
       {{"RMSProp", &Element::a}, {"RMSProp_1", &Element::b}}},
      {"centered_rmsprop",
       {.name = "rmsprop", .options = {{"centered", true}, {"decay", 0.75}, {"momentum", 0.5}, {"epsilon", 0.125}}},
       {0, 1, 0, 0},
       [](Element& e, double g, int) {
         e.a = 0.75 * e.a + 0.25 * g * g;
         e.b = 0.75 * e.b + 0.25 * g;
         e.c = 0.5 * e.c + kRate * g / std::sqrt(e.a - e.b * e.b + 0.125);
         e.x -= e.c;
       },
       {{"RMSProp", &Element::a}, {"RMSProp_1", &Element::b}, {"RMSProp_2", &Element::c}}},
      {"adam",
       {.name = "adam", .options = adam_options()},
       {},
       [](Element& e, double g, int t) { adam(e, g, t, 0); },
       {{"Adam", &Element::a}, {"Adam_1", &Element::b}}},
      {"adamw",
       {.name = "adamw", .options = adam_options(0.25)},
       {},
       [](Element& e, double g, int t) { adam(e, g, t, 0.25); },
       {{"Adam", &Element::a}, {"Adam_1", &Element::b}}},
      {"ftrl",
       {.name = "ftrl", .options = {{"l1_regularization_strength", 0.5}, {"l2_regularization_strength", 0.25}}},
       {0, 0.1, 0, 0},
       [](Element& e, double g, int) { ftrl(e, g, 0.5, 0.25, 0.5); },
       {{"Ftrl", &Element::a}, {"Ftrl_1", &Element::b}}},
      {"ftrl_of_another_power",
       {.name = "ftrl", .options = {{"initial_accumulator_value", 0.5}, {"learning_rate_power", -0.25}}},
       {0, 0.5, 0, 0},
       [](Element& e, double g, int) { ftrl(e, g, 0, 0, 0.25); },
       {{"Ftrl", &Element::a}, {"Ftrl_1", &Element::b}}},
  };
  return all;
}

class OptimizerFormulas : public SessionTest, public ::testing::WithParamInterface<std::size_t> {
 protected:
  static double start(std::size_t i) { return std::sin(static_cast<double>(i) + 1) * 2; }
  static double factor(std::size_t i) { return 0.5 + static_cast<double>(i % 3); }

  template <class T>
  Tensor numbers(std::size_t n, double (*f)(std::size_t)) {
    std::vector<T> all;
    for (std::size_t i = 0; i < n; ++i) all.push_back(static_cast<T>(f(i)));
    return Tensor({static_cast<std::int64_t>(n)}, all);
  }

  // Minimizes the sum of factor * x^2 / 2 over all variables: the gradient is factor * x.
  template <class T>
  void check(const std::vector<std::size_t>& sizes, int threads, double tolerance) {
    const OptimizerCase& c = cases()[GetParam()];
    std::vector<Output> variables, losses;
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      variables.push_back(ops::variable(g, "x" + std::to_string(v), numbers<T>(sizes[v], start)));
      losses.push_back(
          ops::reduce_sum(ops::square(variables[v]) * ops::constant(g, numbers<T>(sizes[v], factor)) * 0.5));
    }
    OptimizerSettings section = c.section;
    section.learning_rate.learning_rate = kRate;
    const Output train = minimize(g, ops::add_n(losses), LinkedOptimizer(section, default_plugins()).use());
    DirectSessionOptions options;
    options.threads = threads;
    open(std::move(options));
    initialize();
    for (int t = 0; t < kSteps; ++t) run(train);
    for (std::size_t v = 0; v < sizes.size(); ++v) {
      std::vector<Element> elements;
      for (std::size_t i = 0; i < sizes[v]; ++i) {
        Element e = c.initial;
        e.x = static_cast<T>(start(i));
        for (int t = 1; t <= kSteps; ++t) c.step(e, factor(i) * e.x, t);
        elements.push_back(e);
      }
      expect<T>(variables[v], elements, &Element::x, tolerance);
      const std::string name = g.node_name_of(variables[v]);
      for (const auto& [slot, member] : c.slots) expect<T>(g.find(name + "/" + slot), elements, member, tolerance);
    }
  }

  template <class T>
  void expect(const Output& variable, const std::vector<Element>& elements, double Element::*member, double tolerance) {
    const std::vector<T> got = values<T>(variable);
    ASSERT_EQ(got.size(), elements.size());
    for (std::size_t i = 0; i < got.size(); ++i)
      ASSERT_NEAR(got[i], elements[i].*member, tolerance * (1 + std::fabs(elements[i].*member)))
          << variable.name() << " " << i;
  }
};

TEST_P(OptimizerFormulas, HoldInFloat64) { check<double>({5}, 1, 1e-13); }
TEST_P(OptimizerFormulas, HoldForSeveralFloat32VariablesInOnePass) { check<float>({1, 33, 40007}, 1, 2e-5); }
TEST_P(OptimizerFormulas, HoldOnTwoThreads) { check<float>({40007, 3}, 2, 2e-5); }

INSTANTIATE_TEST_SUITE_P(All, OptimizerFormulas, ::testing::Range<std::size_t>(0, 10),
                         [](const auto& c) { return cases()[c.param].title; });

}  // namespace
}  // namespace belay::runtime::testing
