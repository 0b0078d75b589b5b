// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "belay/testing/temporary_folder.h"
#include "belay/testing/testing.h"

extern "C" const belay_module belay_module_final_ops;

namespace final_ops_test {

using namespace belay::testing;
using belay::Tensor;
using belay::TensorView;

const belay_module& module() { return module_under_test(belay_module_final_ops); }

DriverSetup in(const std::string& directory) {
  DriverSetup setup;
  setup.run_directory = directory;
  return setup;
}

nlohmann::json read_json(const std::string& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

TEST(FinalOps, LogsAndWritesTheValuesAtTheEnd) {
  const TemporaryFolder folder;
  HookDriver hook(module(), {{"ops", std::vector<std::string>{"accuracy", "counts", "words"}}}, in(folder.path()));
  hook.tensor<float>("accuracy");
  hook.tensor<std::int64_t>("counts", {2, 2});
  hook.tensor<std::string_view>("words", {1});
  hook.begin();
  hook.create_session();
  hook.session().set_value("accuracy", 0.5f);
  hook.session().set_value("counts",
                           Tensor({2, 2}, {std::int64_t{1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{4}}));
  Tensor words(belay::DType::kString, {1});
  words.set_text(0, "a\"b");
  hook.session().set_value("words", words);
  EXPECT_TRUE(hook.step().fetched.empty());
  hook.end();
  EXPECT_EQ(hook.logged(), (std::vector<std::string>{"info: accuracy = 0.5", "info: counts = [[1, 2], [3, 4]]",
                                                     "info: words = [\"a\"b\"]"}));
  EXPECT_EQ(read_json(folder.path() + "/final_ops.json"),
            nlohmann::json::parse(R"({"accuracy": 0.5, "counts": [[1, 2], [3, 4]], "words": ["a\"b"]})"));
}

TEST(FinalOps, WhatJsonHasNoNumberForIsAText) {
  const TemporaryFolder folder;
  HookDriver hook(module(), {{"ops", std::vector<std::string>{"v"}}, {"output_file", std::string("last.json")}},
                  in(folder.path()));
  hook.tensor<double>("v", {3});
  hook.begin();
  hook.create_session();
  hook.session().set_value("v", Tensor({3}, {HUGE_VAL, -HUGE_VAL, std::nan("")}));
  hook.end();
  EXPECT_EQ(read_json(folder.path() + "/last.json"),
            nlohmann::json::parse(R"({"v": ["Infinity", "-Infinity", "NaN"]})"));
}

TEST(FinalOps, FeedsThatOneRun) {
  HookDriver hook(module(), {{"ops", std::vector<std::string>{"y"}}, {"feeds.x", 2.5}, {"output_file", std::string()}});
  hook.tensor<float>("x");
  hook.tensor<float>("y");
  hook.begin();
  hook.create_session();
  hook.session().set_value("y", 5.0f);
  EXPECT_TRUE(hook.step().fed.empty());
  hook.end();
  ASSERT_EQ(hook.session().raw_runs().size(), 1u);
  EXPECT_EQ(TensorView(hook.session().raw_runs()[0].feeds.at("x").view()).scalar<float>(), 2.5f);
}

TEST(FinalOps, WithoutOpsNothingHappens) {
  HookDriver hook(module());
  hook.begin();
  hook.create_session();
  hook.end();
  EXPECT_TRUE(hook.session().raw_runs().empty());
  EXPECT_TRUE(hook.logged().empty());
}

TEST(FinalOps, RefusesUnusableOptions) {
  EXPECT_EQ(error_of([] {
              HookDriver hook(module(), {{"output_file", std::string("a/b")}});
            }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
  HookDriver hook(module(), {{"ops", std::vector<std::string>{"acuracy"}}});
  hook.tensor<float>("accuracy");
  EXPECT_EQ(error_of([&] { hook.begin(); }), "NOT_FOUND: the graph has no 'acuracy'; did you mean 'accuracy'?");
}

TEST(FinalOps, T_161_AFileThatCannotBeWrittenIsAWarning) {
  HookDriver hook(module(), {{"ops", std::vector<std::string>{"v"}}}, in("/nowhere"));
  hook.tensor<float>("v");
  hook.begin();
  hook.create_session();
  hook.session().set_value("v", 1.0f);
  hook.end();
  EXPECT_TRUE(
      hook.host().has_logged("warning: '/nowhere/final_ops.json' cannot be written: No such file or directory; "
                             "the run continues without it"));
}

}  // namespace final_ops_test
