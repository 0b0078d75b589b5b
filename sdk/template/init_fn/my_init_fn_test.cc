// Runs the init function without an engine, on variables made here. It runs twice: linked in, and with the .so.
#include <belay/testing/testing.h>
#include <gtest/gtest.h>

#include <memory>

extern "C" const belay_module belay_module_my_init_fn;

namespace {

using namespace belay::testing;
using belay::Tensor;
using Names = std::vector<std::string>;

std::unique_ptr<InitFnDriver> driver(const OptionValues& options) {
  auto init = std::make_unique<InitFnDriver>(module_under_test(belay_module_my_init_fn), options);
  init->variable("dense/kernel", Tensor({2}, {1.f, 2.f}));
  init->variable("dense/bias", Tensor(3.f));
  init->variable("global_step", Tensor(std::int64_t{0}), false);
  return init;
}

TEST(MyInitFn, SetsTheChosenVariables) {
  const auto init = driver({{"variables", Names{"dense/kernel"}}, {"value", 0.5}});
  init->run();
  EXPECT_EQ(init->text_of("dense/kernel"), "[0.5, 0.5]");
  EXPECT_EQ(init->text_of("dense/bias"), "3");
}

TEST(MyInitFn, NamesWhatItCannotSet) {
  const auto unknown = driver({{"variables", Names{"dense/weights"}}});
  EXPECT_EQ(error_of([&] { unknown->run(); }),
            "NOT_FOUND: there is no variable 'dense/weights'; there are: dense/kernel, dense/bias, global_step");
  const auto integer = driver({{"variables", Names{"global_step"}}});
  EXPECT_EQ(error_of([&] { integer->run(); }), "INVALID_ARGUMENT: variable 'global_step' is int64, not float32");
}

TEST(MyInitFn, NeedsItsVariables) {
  EXPECT_EQ(error_of([] { driver({}); }), "INVALID_ARGUMENT: 'variables' is required");
}

}  // namespace
