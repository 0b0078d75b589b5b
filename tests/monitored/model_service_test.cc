// SPDX-License-Identifier: Apache-2.0
// The service "model" as a model without the SDK may call it.
#include "runtime/monitored/model/model_service.h"

#include "belay/testing/error_of.h"
#include "tests/monitored/monitored_fixture.h"

namespace belay::runtime::testing {
namespace {

class ModelServiceTest : public MonitoredTest {
 protected:
  std::string set(std::int32_t role, const Output& output, std::string_view name = "x") {
    return belay::testing::error_of([&] {
      detail::Status status;
      status.check(model_service()->set(to_handle(&spec), role, detail::str(name), output.raw(), {}, status));
    });
  }
  std::string add(const belay_model_hook& hook) {
    return belay::testing::error_of([&] {
      detail::Status status;
      status.check(model_service()->add_hook(to_handle(&spec), &hook, status));
    });
  }
  // A hook with one option.
  static belay_model_hook with(const belay_named_value& option) {
    auto hook = detail::sized<belay_model_hook>();
    hook.plugin = detail::str("watch");
    hook.options = &option;
    hook.n_options = 1;
    return hook;
  }

  ModelSpec spec{graph};
};

TEST_F(ModelServiceTest, B_12i_APieceIsGivenOnceAndTheReadyOperationsAreStrings) {
  const Output one = ops::constant(g, Tensor(1.0f), "one");
  const Output names = ops::report_uninitialized_variables(g, {}, "names");
  EXPECT_EQ(set(BELAY_ROLE_READY_OP, one),
            "INVALID_ARGUMENT: [B5084] the ready_op " + one.text() + " must be a string tensor");
  EXPECT_EQ(set(BELAY_ROLE_READY_OP, names), "");
  EXPECT_EQ(set(BELAY_ROLE_READY_OP, names), "INVALID_ARGUMENT: [B5084] the model has the piece ready_op twice");
  EXPECT_EQ(set(BELAY_ROLE_INIT_OP, one), "");
  EXPECT_EQ(set(BELAY_ROLE_LOCAL_INIT_OP, one), "");
  EXPECT_EQ(set(BELAY_ROLE_LOCAL_INIT_OP, one),
            "INVALID_ARGUMENT: [B5084] the model has the piece local_init_op twice");
  EXPECT_EQ(set(99, one), "INVALID_ARGUMENT: [B5084] a model has no role 99");
  EXPECT_EQ(spec.outputs.pieces, (std::vector<std::string>{"ready_op", "init_op", "local_init_op"}));
}

TEST_F(ModelServiceTest, APredictionOrMetricWhoseNameCannotBeWrittenIsRefused) {
  const Output one = ops::constant(g, Tensor(1.0f), "one");
  for (const auto& [role, what] : {std::pair{BELAY_ROLE_PREDICTION, std::string("prediction")},
                                   std::pair{BELAY_ROLE_METRIC, std::string("metric")}}) {
    EXPECT_EQ(set(role, one, ""), "INVALID_ARGUMENT: [B5084] a " + what + " of the model has no name; give it one");
    EXPECT_EQ(set(role, one, "two\nlines"), "INVALID_ARGUMENT: [B5084] the " + what +
                                                " 'two\\nlines' of the model cannot be written: a character of its "
                                                "name is a control character; choose another name");
    EXPECT_EQ(set(role, one, "caf\xe9"), "INVALID_ARGUMENT: [B5084] the " + what +
                                             " 'caf\\xe9' of the model cannot be written: its name is not UTF-8; "
                                             "choose another name");
    EXPECT_EQ(set(role, one, "top 5/größe"), "");
  }
  EXPECT_EQ(spec.outputs.predictions.size(), 1u);
  EXPECT_EQ(spec.outputs.metrics.size(), 1u);
}

TEST_F(ModelServiceTest, B_12h_AHookWithAnUnknownFlagOrAnOptionThatIsNoneIsRefused) {
  auto hook = detail::sized<belay_model_hook>();
  EXPECT_EQ(add(hook), "INVALID_ARGUMENT: [B5084] a hook of the model has no plugin's name");
  hook.flags = 6;
  EXPECT_EQ(add(hook), "UNIMPLEMENTED: belay_model_hook has the unknown flag 6; this side was built before it");
  const belay_tensor tensor = detail::described(DType::kFloat32, 0, nullptr);
  const std::string begin = "INVALID_ARGUMENT: the hook 'watch': option 'x': ";
  EXPECT_EQ(add(with({detail::str("x"), {BELAY_VALUE_TENSOR, 0, 1, &tensor}})),
            begin + "[B2050] it is of type 5, which no option has");
  EXPECT_EQ(add(with({detail::str("x"), {BELAY_VALUE_INT, 0, 0, nullptr}})),
            begin + "its value is one value, and has count = 0");
  EXPECT_TRUE(spec.outputs.hooks.empty());
}

TEST_F(ModelServiceTest, AHooksOptionsAreCopied) {
  std::vector<double> numbers{1.5, 2.5};
  std::int64_t yes = 1;
  EXPECT_EQ(add(with({detail::str("x"), {BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, 0, 2, numbers.data()}})), "");
  numbers.clear();
  ASSERT_EQ(spec.outputs.hooks.size(), 1u);
  EXPECT_EQ(spec.outputs.hooks[0].use.name, "watch");
  EXPECT_EQ(spec.outputs.hooks[0].use.options.at(0).value, OptionValue(std::vector<double>{1.5, 2.5}));
  const belay_named_value option{detail::str("x"), {BELAY_VALUE_BOOL, 0, 1, &yes}};
  auto chief = with(option);
  chief.name = detail::str("again");
  chief.flags = BELAY_MODEL_HOOK_CHIEF_ONLY;
  EXPECT_EQ(add(chief), "");
  EXPECT_TRUE(spec.outputs.hooks[1].chief_only);
  EXPECT_EQ(spec.outputs.hooks[1].use.options.at(0).value, OptionValue(true));
}

}  // namespace
}  // namespace belay::runtime::testing
