// SPDX-License-Identifier: Apache-2.0
// Refused operations of plugins, and the reports about them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "runtime/ops/plugin/plugin_attrs.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "tests/ops/plugin_op_fixture.h"

namespace belay::runtime::testing {
namespace {

TEST_F(PluginOpTest, AttributesAreCheckedAgainstTheNote) {
  const std::string who = "node 'n' (Affine): ";
  const auto text = [&](const std::function<void(NodeBuilder&)>& set) {
    return error_of([&] {
      NodeBuilder node = g.node("Affine", "n");
      node.in(ops::scalar(g, 1, DType::kFloat32));
      set(node);
      node.output();
    });
  };
  const struct {
    std::function<void(NodeBuilder&)> set;
    std::string expected;
  } cases[] = {
      {[](NodeBuilder& n) { n.attr("scael", 1.0); },
       "[B2030] \"scael\" is not an attribute of op \"affine\"; did you mean \"scale\"? attributes: scale, offset, "
       "reversed, mode, unused"},
      {[](NodeBuilder& n) { n.attr("scale", "two"); }, "[B2032] \"scale\" must be a number, not a string"},
      {[](NodeBuilder& n) { n.attr("scale", 11); }, "[B2033] \"scale\" is 11, must be at most 10; scale: factor"},
      {[](NodeBuilder& n) { n.attr("offset", 1.5); }, "[B2032] \"offset\" must be an integer, not a number"},
      {[](NodeBuilder& n) { n.attr("reversed", 2); }, "[B2032] \"reversed\" must be true or false, not an integer"},
      {[](NodeBuilder& n) { n.attr("mode", "fanci"); },
       "[B2034] \"mode\" is \"fanci\", must be one of: plain, fancy; did you mean \"fancy\"?"},
      {[](NodeBuilder& n) { n.attr("unused", 1.0); },
       "[B2032] \"unused\" must be a list of numbers, not a number; a list of one is written in brackets: unused = "
       "[...]"},
      {[](NodeBuilder& n) { n.attr("scale", Tensor(1.f)); },
       "attribute \"scale\" is a tensor; give it as an input, for instance with ops::constant"},
      {[](NodeBuilder& n) { n.attr("scale", 2).attr("scale", 3); }, "attribute 'scale' is set twice"},
  };
  for (const auto& c : cases) EXPECT_EQ(text(c.set), "INVALID_ARGUMENT: " + who + c.expected);
  EXPECT_EQ(
      text([](NodeBuilder& n) {
        n.attr("scale", 3).attr("reversed", true).attr("mode", "fancy").attr("unused", std::vector<std::int64_t>{});
      }),
      "no error");
}

TEST_F(PluginOpTest, WrongInputsAreNamedWithTheNode) {
  const Output i = ops::constant(g, Tensor({2}, std::vector<std::int64_t>{1, 2}));
  const Output s = ops::constant(g, Tensor(std::string_view("text")));
  EXPECT_EQ(
      error_of([&] { g.node("Affine", "n").in(i).output(); }),
      "INVALID_ARGUMENT: node 'n' (Affine): op \"affine\" (linked in, 1.2.0) in infer: input 0 (int64 [2]) must be "
      "float32");
  EXPECT_EQ(error_of([&] { g.node("Noise", "n").in(s).output(); }),
            "INVALID_ARGUMENT: node 'n' (Noise): input 0 (string []) must be a number");
  EXPECT_EQ(error_of([&] { g.node("Affine", "n").output(); }),
            "INVALID_ARGUMENT: node 'n' (Affine): expected 1 inputs, got 0");
}

TEST_F(PluginOpTest, WithoutAGradientNonePassesAndTheErrorNamesTheNode) {
  const Output x = input({2});
  const Output y = g.node("CheckedSqrt", "root").in(x).output();
  EXPECT_EQ(error_of([&] { g.gradients({y}, {x}); }),
            "INVALID_ARGUMENT: no gradient is defined for operation 'CheckedSqrt' (node 'root')");
}

TEST_F(PluginOpTest, ANameThatIsTakenIsRefusedAndBothAreNamed) {
  RegisteredPlugin& again = odd_;
  again = *plugins_.find(PluginKind::kOp, "affine");
  again.file = "/p/other.so";
  again.version = "3.0";
  EXPECT_EQ(error_of([&] { add(again); }),
            "ALREADY_EXISTS: op \"affine\" (other.so 3.0) offers the operation 'Affine', but op \"affine\" (linked in, "
            "1.2.0) offers it already; give the plugin another name");
  again.info.name = "mat-mul";
  EXPECT_EQ(
      error_of([&] { add(again); }),
      "ALREADY_EXISTS: op \"mat-mul\" (other.so 3.0) offers the operation 'MatMul', but the engine has it already; "
      "give the plugin another name");
}

TEST_F(PluginOpTest, TraitsAndAttributesThatNoOperationCanHaveAreRefused) {
  RegisteredPlugin& plugin = odd_;
  plugin = *plugins_.find(PluginKind::kOp, "noise");
  plugin.info.name = "odd";
  const auto with_traits = [&](std::int32_t (*traits)(void*, belay_op_traits*, belay_status*)) {
    std::get<belay_op_api>(plugin.table).traits = traits;
    return error_of([&] { add(plugin); });
  };
  EXPECT_EQ(with_traits([](void*, belay_op_traits* t, belay_status*) {
              t->n_inputs = -2;
              return BELAY_OK;
            }),
            "INVALID_ARGUMENT: op \"odd\" (linked in, 1.2.0): its traits have n_inputs = -2, must be -1 (any) or more");
  EXPECT_EQ(with_traits([](void*, belay_op_traits* t, belay_status*) {
              t->n_inputs = 1, t->flags = 64;
              return BELAY_OK;
            }),
            "UNIMPLEMENTED: op \"odd\" (linked in, 1.2.0) in traits: belay_op_traits has the unknown flag 64; this "
            "side was built before it");
  EXPECT_EQ(with_traits([](void*, belay_op_traits* t, belay_status*) {
              t->n_inputs = 2, t->in_place = 1u << 0 | 1u << 2;
              return BELAY_OK;
            }),
            "INVALID_ARGUMENT: op \"odd\" (linked in, 1.2.0): by its traits output 0 may use the memory of input "
            "2, and its nodes have n_inputs = 2; in_place names inputs from 0 to n_inputs - 1");
  plugin.info.options.emplace_back();
  plugin.info.options.back().name = "weights";
  plugin.info.options.back().type = OptionType::kPath;
  EXPECT_EQ(
      with_traits([](void*, belay_op_traits* t, belay_status*) {
        t->n_inputs = 1;
        return BELAY_OK;
      }),
      "INVALID_ARGUMENT: op \"odd\" (linked in, 1.2.0): its attribute \"weights\" is a path; the attributes of an "
      "operation are booleans, numbers, strings and lists of them");
}

TEST_F(PluginOpTest, B_01e_ATraitsThatZeroesTheHostsStructIsRefused) {
  odd_ = *plugins_.find(PluginKind::kOp, "noise");
  odd_.info.name = "odd";
  std::get<belay_op_api>(odd_.table).traits = [](void*, belay_op_traits* t, belay_status*) {
    *t = {};
    t->n_inputs = 1;
    return BELAY_OK;
  };
  EXPECT_EQ(error_of([&] { add(odd_); }),
            "INVALID_ARGUMENT: op \"odd\" (linked in, 1.2.0) in traits: belay_op_traits has struct_size 0: its owner "
            "sets it before the call (BELAY_INIT), and nothing changes it in the call");
}

TEST_F(PluginOpTest, B_06c_WhatNoHostHasYetIsRefusedByName) {
  odd_ = *plugins_.find(PluginKind::kOp, "noise");
  odd_.info.name = "odd";
  std::get<belay_op_api>(odd_.table).traits = [](void*, belay_op_traits* t, belay_status*) {
    t->n_inputs = 1, t->flags = BELAY_OP_COLLECTIVE;
    return BELAY_OK;
  };
  EXPECT_EQ(error_of([&] { add(odd_); }),
            "INVALID_ARGUMENT: op \"odd\" (linked in, 1.2.0): its traits ask for collective runs, which this host does "
            "not have yet");
}

constexpr const char* kLabel = "op \"misbehaving_op\" (misbehaving_op.so 0.9, train.toml:14)";

TEST_F(PluginOpTest, WhatAShapeRuleSaysWrongIsRefusedWhenTheNodeIsMade) {
  add_misbehaving();
  const struct {
    const char *fault, *code, *expected;
  } cases[] = {
      {"refuse", "FAILED_PRECONDITION",
       " in infer: too much of it (OUT_OF_RANGE ends no run from here: only an input's next ends one with it; a value "
       "that is out of its range is INVALID_ARGUMENT)"},
      {"no output", "INVALID_ARGUMENT", " in infer: it declared no output"},
      {"unknown dtype", "INVALID_ARGUMENT", " in infer: output 0 has the unknown dtype 77"},
      {"string", "INVALID_ARGUMENT", " in infer: output 0 is a string; an operation of a plugin computes numbers"},
      {"negative rank", "INVALID_ARGUMENT", " in infer: output 0 has rank -5"},
      {"no dims", "INVALID_ARGUMENT", " in infer: op.output: argument 4, dims, is null"},
      {"negative dimension", "INVALID_ARGUMENT", " in infer: output 0 has the dimension -2 on axis 3"},
      {"never known", "INVALID_ARGUMENT",
       " in infer: output 0 has the shape [...] although the shapes of all inputs are known"},
      {"throw in infer", "UNKNOWN",
       " in infer: [B2041] it let an exception escape, and is not called any more: std::runtime_error: boom"},
  };
  const Output x = ops::constant(g, Tensor({2}, {1.f, 2.f}));
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { g.node("MisbehavingOp", "n").in(x).attr("fault", c.fault).output(); }),
              std::string(c.code) + ": node 'n' (MisbehavingOp): " + kLabel + c.expected);
  EXPECT_EQ(error_of([&] { g.node("MisbehavingOp", "n").in(x).output(); }),
            "FAILED_PRECONDITION: node 'n' (MisbehavingOp): " + std::string(kLabel) +
                " in infer: [B2041] it is not called any more, since it let an exception escape from an earlier call");
}

class MisbehavingRun : public PluginOpTest,
                       public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(MisbehavingRun, IsReportedWithTheNodeAndThePlugin) {
  add_misbehaving();
  const Output x = input({-1});
  const Output y = g.node("MisbehavingOp", "n").in(x).attr("fault", GetParam().first).output();
  open();
  std::string expected = GetParam().second;
  expected.replace(expected.find('@'), 1, "node 'n' (MisbehavingOp): " + std::string(kLabel));
  EXPECT_EQ(error_of([&] { floats(y, {{x, Tensor({2}, {1.f, 2.f})}}); }), expected);
}

INSTANTIATE_TEST_SUITE_P(
    Faults, MisbehavingRun,
    ::testing::Values(
        std::pair{
            "another shape when it runs",
            "INTERNAL: @ in infer: output 0 was float32 [?] when the node was added, and is float32 [7, 7, 7] for "
            "the shapes of a run"},
        std::pair{"another dtype when it runs",
                  "INTERNAL: @ in infer: output 0 was float32 [?] when the node was added, and is int32 [2] for the "
                  "shapes of a run"},
        std::pair{"another output when it runs",
                  "INTERNAL: @ in infer: it declared 1 outputs when the node was added, and 2 for the shapes of a run"},
        std::pair{"no kernel", "INTERNAL: @ in make_kernel: it returned no kernel (kernel is null)"},
        std::pair{"fail in make_kernel", "RESOURCE_EXHAUSTED: @ in make_kernel: no room"},
        std::pair{"throw in make_kernel",
                  "UNKNOWN: @ in make_kernel: [B2041] it let an exception escape, and is not called any more: "
                  "std::runtime_error: boom"},
        std::pair{"fail in run", "DATA_LOSS: @ in run: half of it is gone"},
        std::pair{"out of range in run",
                  "FAILED_PRECONDITION: @ in run: element 7 (OUT_OF_RANGE ends no run from here: only an input's next "
                  "ends one with it; a value that is out of its range is INVALID_ARGUMENT)"},
        std::pair{"unknown code in run", "INTERNAL: @ in run: what is this (unknown status code 4711)"},
        std::pair{"throw in run",
                  "UNKNOWN: @ in run: [B2041] it let an exception escape, and is not called any more: "
                  "std::runtime_error: boom"},
        std::pair{"throw int in run",
                  "UNKNOWN: @ in run: [B2041] it let an exception escape, and is not called any more: int"}));

TEST_F(PluginOpTest, AWriteOutsideOfAnOutputIsFoundInTheFirstRuns) {
  if (kGuardBytes == 0) GTEST_SKIP() << "SKIPPED: the address sanitizer finds such writes by itself";
  add_misbehaving();
  const Output x = input({-1});
  const auto node = [&](const char* fault) { return g.node("MisbehavingOp", "n").in(x).attr("fault", fault).output(); };
  const Output past = node("write past the end"), before = node("write before the start"), well = node("");
  open();
  const auto found = [&](const Output& y) { return error_of([&] { floats(y, {{x, Tensor({3}, {1.f, 2.f, 3.f})}}); }); };
  EXPECT_EQ(found(past), "INTERNAL: node 'n' (MisbehavingOp): " + std::string(kLabel) +
                             " in run: it wrote 4 bytes past the end of output 0, which has 12 bytes");
  EXPECT_EQ(found(before), "INTERNAL: node 'n_1' (MisbehavingOp): " + std::string(kLabel) +
                               " in run: it wrote 8 bytes before the start of output 0, which has 12 bytes");
  for (int run = 0; run < 4; ++run) EXPECT_EQ(found(well), "no error");
}

TEST_F(PluginOpTest, TheResultsOfTheFirstRunsAreThoseOfLaterRuns) {
  const Output x = input({4});
  const Output y = g.node("Affine", "inner").in(x).attr("scale", 3.0).output();
  const Output z = g.node("Affine", "outer").in(y).attr("scale", 2.0).output();
  open();
  for (int run = 0; run < 4; ++run)
    EXPECT_EQ(floats(z, {{x, Tensor({4}, {1.f, 2.f, 3.f, 4.f})}}), (Floats{6, 12, 18, 24})) << "run " << run;
}

TEST_F(PluginOpTest, T_141_AKernelEndsNoRun) {
  add_misbehaving();
  const Output x = input({-1});
  const Output y = g.node("MisbehavingOp", "n").in(x).attr("fault", "out of range in run").output();
  open();
  EXPECT_THAT(error_of([&] {
                floats(y, {{x, Tensor({2}, {1.f, 2.f})}});
              }),
              ::testing::HasSubstr("in run: element 7 (OUT_OF_RANGE ends no run from here"));
}

TEST_F(PluginOpTest, AnExceptionOutOfDestroyKernelIsLogged) {
  add_misbehaving();
  const Output x = input({2});
  const Node& node =
      graph.node(g.node("MisbehavingOp", "n").in(x).attr("fault", "throw in destroy_kernel").output().raw().node);
  { const auto kernel = node.op->kernel({node, {{DType::kFloat32, {2}}}, {{DType::kFloat32, {2}}}}); }
  EXPECT_EQ(logger_.lines,
            std::vector<std::string>{"error misbehaving_op: " + std::string(kLabel) +
                                     " let an exception escape from destroy_kernel: std::runtime_error: not now"});
}

TEST_F(PluginOpTest, WhatAGradientGivesWrongIsRefused) {
  add_misbehaving();
  const std::string who = "node 'n' (MisbehavingOp): " + std::string(kLabel);
  const auto gradient = [&](const char* fault) {
    NodeGraph other(*ops);
    const belay::Graph h = other.handle();
    const Output in = ops::placeholder(h, DType::kFloat32, {2}, "x");
    const Output y = h.node("MisbehavingOp", "n").in(in).attr("fault", fault).output();
    return error_of([&] { h.gradients({y}, {in}); });
  };
  EXPECT_EQ(gradient(""), "no error");
  EXPECT_EQ(gradient("fail in gradient"), "UNIMPLEMENTED: " + who + " in gradient: somebody else's work");
  EXPECT_EQ(gradient("operation as gradient"),
            "INVALID_ARGUMENT: " + who + " in gradient: the gradient of input 0 is an operation without a value");
  EXPECT_EQ(gradient("gradient from nowhere"),
            "INVALID_ARGUMENT: " + who + " in gradient: the gradient of input 0: the graph has no node 1002");
  // T-145: it was written past the array, and the next user of that memory crashed.
  EXPECT_EQ(
      gradient("gradient of no input"),
      "INVALID_ARGUMENT: " + who + " in gradient: it gave one of input 1, and the node has 1; inputs count from 0");
  EXPECT_EQ(
      gradient("throw in gradient"),
      "UNKNOWN: " + who +
          " in gradient: [B2041] it let an exception escape, and is not called any more: std::runtime_error: boom");
}

}  // namespace
}  // namespace belay::runtime::testing
