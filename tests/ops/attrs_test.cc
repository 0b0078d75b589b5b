// SPDX-License-Identifier: Apache-2.0
// Operations declare attributes. These declarations decide the attributes of a node.
#include "runtime/graph/attrs.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <set>

#include "belay/ops/activations.h"
#include "belay/ops/attention.h"
#include "belay/ops/control.h"
#include "belay/ops/control_flow.h"
#include "belay/ops/convolution.h"
#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/normalization.h"
#include "belay/ops/queues.h"
#include "belay/ops/random.h"
#include "belay/ops/recurrent.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/sorting.h"
#include "belay/ops/summaries.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "runtime/session/simplify.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

class AttrsTest : public SessionTest {
 protected:
  // Returns the error of a node "n" that is given these attributes.
  std::string error(const char* op, const std::vector<Output>& inputs, const std::function<void(NodeBuilder&)>& set) {
    return error_of([&] {
      NodeBuilder n = g.node(op, "n");
      set(n.in(inputs));
      n.operation();
    });
  }
  static std::string refused(const char* op, const std::string& why) {
    return std::string("INVALID_ARGUMENT: node 'n' (") + op + "): " + why;
  }
  const Node& node_of(const Output& o) { return graph.node(o.raw().node); }

  Output x = ops::constant(g, Tensor({2, 2}, {1.f, 2.f, 3.f, 4.f}), "x");
};

TEST_F(AttrsTest, AnUnknownOneIsRefusedAndTheNearestNamed) {
  EXPECT_EQ(error("MatMul", {x, x}, [](NodeBuilder& n) { n.attr("transpos_a", true); }),
            refused("MatMul",
                    "'transpos_a' is not an attribute of this operation; did you mean 'transpose_a'? attributes: "
                    "transpose_a, transpose_b"));
  EXPECT_EQ(error("LeakyRelu", {x}, [](NodeBuilder& n) { n.attr("epsilon", 1.0); }),
            refused("LeakyRelu", "'epsilon' is not an attribute of this operation; attributes: alpha"));
  EXPECT_EQ(error("Relu", {x}, [](NodeBuilder& n) { n.attr("alpha", 1.0); }),
            refused("Relu", "'alpha' is not an attribute of this operation; it has none"));
  EXPECT_EQ(error("Relu", {x}, [](NodeBuilder& n) { n.attr("al\npha", 1.0); }),
            refused("Relu", "'al\\npha' is not an attribute of this operation; it has none"));
}

TEST_F(AttrsTest, OneOfAnotherTypeIsRefused) {
  const std::string concat = "attribute 'axis' must be an integer, not ";
  EXPECT_EQ(error("Concat", {x, x}, [](NodeBuilder& n) { n.attr("axis", 1.0); }),
            refused("Concat", concat + "a number"));
  EXPECT_EQ(error("Concat", {x, x}, [](NodeBuilder& n) { n.attr("axis", "1"); }),
            refused("Concat", concat + "a string"));
  EXPECT_EQ(error("Concat", {x, x}, [](NodeBuilder& n) { n.attr("axis", Tensor(1.f)); }),
            refused("Concat", concat + "a tensor"));
  EXPECT_EQ(error("Concat", {x, x}, [](NodeBuilder& n) { n.attr("axis", Dims{1}); }),
            refused("Concat", concat + "a list of integers"));
  EXPECT_EQ(error("LeakyRelu", {x}, [](NodeBuilder& n) { n.attr("alpha", "steep"); }),
            refused("LeakyRelu", "attribute 'alpha' must be a number, not a string"));
  EXPECT_EQ(error("MatMul", {x, x}, [](NodeBuilder& n) { n.attr("transpose_a", "yes"); }),
            refused("MatMul", "attribute 'transpose_a' must be true or false, not a string"));
  EXPECT_EQ(error("MatMul", {x, x}, [](NodeBuilder& n) { n.attr("transpose_a", 2); }),
            refused("MatMul", "attribute 'transpose_a' must be true or false, got 2"));
  EXPECT_EQ(error("Sum", {x}, [](NodeBuilder& n) { n.attr("axes", 0); }),
            refused("Sum", "attribute 'axes' must be a list of integers, not an integer"));
  EXPECT_EQ(error("Sum", {x}, [](NodeBuilder& n) { n.attr("axes", std::vector<std::string>{"0"}); }),
            refused("Sum", "attribute 'axes' must be a list of integers, not a list of strings"));
  EXPECT_EQ(error("ScalarSummary", {ops::scalar(g, 1, DType::kFloat32)}, [](NodeBuilder& n) { n.attr("tag", 1); }),
            refused("ScalarSummary", "attribute 'tag' must be a string, not an integer"));
  EXPECT_EQ(error("Cast", {x}, [](NodeBuilder& n) { n.attr("dtype", "float32"); }),
            refused("Cast", "attribute 'dtype' must be a dtype, not a string"));
  EXPECT_EQ(error("Const", {}, [](NodeBuilder& n) { n.attr("value", 1.0); }),
            refused("Const", "attribute 'value' must be a tensor, not a number"));
  EXPECT_EQ(error("Reshape", {x}, [](NodeBuilder& n) { n.attr("shape", "4"); }),
            refused("Reshape", "attribute 'shape' must be a shape, a list of integers, not a string"));
}

TEST_F(AttrsTest, AnIntegerIsANumber) {
  EXPECT_EQ(error("LeakyRelu", {x}, [](NodeBuilder& n) { n.attr("alpha", 1); }), "no error");
  EXPECT_EQ(node_of(g.find("n")).attrs.number("alpha"), 1.0);
}

TEST_F(AttrsTest, OneOutOfRangeIsRefused) {
  EXPECT_EQ(error("Dropout", {x}, [](NodeBuilder& n) { n.attr("rate", 1); }),
            refused("Dropout", "attribute 'rate' must be in [0, 1), got 1"));
  EXPECT_EQ(error("Dropout", {x}, [](NodeBuilder& n) { n.attr("rate", std::nan("")); }),
            refused("Dropout", "attribute 'rate' must be in [0, 1), got nan"));
  EXPECT_EQ(error("TopK", {x}, [](NodeBuilder& n) { n.attr("k", -1); }),
            refused("TopK", "attribute 'k' must be at least 0, got -1"));
  EXPECT_EQ(error("FusedBatchNorm", {x, x, x}, [](NodeBuilder& n) { n.attr("epsilon", 0); }),
            refused("FusedBatchNorm", "attribute 'epsilon' must be above 0, got 0"));
  EXPECT_EQ(error("Conv2D", {x, x}, [](NodeBuilder& n) { n.attr("padding", "same"); }),
            refused("Conv2D", "attribute 'padding' is 'same', must be SAME, VALID or EXPLICIT"));
  EXPECT_EQ(error("Reshape", {x},
                  [](NodeBuilder& n) {
                    n.attr("shape", Dims{2, -3});
                  }),
            refused("Reshape", "attribute 'shape' has the dimension -3"));
  EXPECT_EQ(error("Cast", {x}, [](NodeBuilder& n) { n.attr("dtype", std::int64_t{1} << 40); }),
            refused("Cast", "attribute 'dtype' is 1099511627776, which is no dtype"));
  EXPECT_EQ(error("FIFOQueue", {},
                  [](NodeBuilder& n) {
                    n.attr("capacity", 1).attr("dtypes", Dims{1, 77}).attr("shapes", Dims{0, 0});
                  }),
            refused("FIFOQueue", "attribute 'dtypes' has 77, which is no dtype"));
}

TEST_F(AttrsTest, OneThatIsSetTwiceIsRefused) {
  EXPECT_EQ(error("LeakyRelu", {x}, [](NodeBuilder& n) { n.attr("alpha", 0.1).attr("alpha", 0.1); }),
            refused("LeakyRelu", "attribute 'alpha' is set twice"));
}

TEST_F(AttrsTest, OneThatIsMissingIsNamedWithItsTypeAndMeaning) {
  const auto none = [](NodeBuilder&) {};
  EXPECT_EQ(error("TopK", {x}, none), refused("TopK", "attribute 'k' is missing; it is an integer: how many"));
  EXPECT_EQ(error("Const", {}, none), refused("Const", "attribute 'value' is missing; it is a tensor: the constant"));
  EXPECT_EQ(error("Cond", {x}, [](NodeBuilder& n) { n.attr("then_body", "a"); }),
            refused("Cond", "attribute 'else_body' is missing; it is a string: the name of the other one"));
}

TEST_F(AttrsTest, TheScopeIsInTheMessage) {
  const auto scope = g.scope("layer");
  EXPECT_EQ(error("Relu", {x}, [](NodeBuilder& n) { n.attr("alpha", 1.0); }),
            "INVALID_ARGUMENT: node 'layer/n' (Relu): 'alpha' is not an attribute of this operation; it has none");
}

TEST_F(AttrsTest, WhatANodeWasNotGivenHasItsDefaultAndStaysUnset) {
  const Output y = g.node("LeakyRelu", "y").in(x).output();
  EXPECT_EQ(node_of(y).attrs.number("alpha"), 0.2);
  EXPECT_FALSE(node_of(y).attrs.has("alpha"));
  EXPECT_TRUE(node_of(y).attrs.all().empty());
  EXPECT_EQ(error_of([&] { g.attr_of(y, "alpha"); }), "NOT_FOUND: node 'y' has no attribute 'alpha'");
  const Output z = g.node("LeakyRelu", "z").in(x).attr("alpha", 0.5).output();
  EXPECT_EQ(node_of(z).attrs.number("alpha"), 0.5);
  EXPECT_TRUE(node_of(z).attrs.has("alpha"));
}

TEST_F(AttrsTest, AnOptionalOneIsThereOrNot) {
  const Output like = ops::constant(g, Tensor({2, 2}, {1.f, 2.f, 3.f, 4.f}));
  const Output plain = g.node("BroadcastLike").in(x).in(like).output();
  const Output back = g.node("BroadcastLike").in(x).in(like).attr("axes", Dims{}).output();
  EXPECT_FALSE(node_of(plain).attrs.has("axes"));
  EXPECT_TRUE(node_of(back).attrs.has("axes"));
  EXPECT_EQ(error_of([&] { node_of(plain).attrs.integers("axes"); }),
            "INTERNAL: attribute 'axes' is read, but it was not given and has no default");
}

// So what a shape rule or a kernel reads is declared: each of them runs in the tests of its operation.
TEST_F(AttrsTest, ReadingOneThatIsNotDeclaredFails) {
  const Attrs& attrs = node_of(g.node("LeakyRelu").in(x).output()).attrs;
  const std::string error = "INTERNAL: attribute 'beta' is read, but its operation does not declare it";
  EXPECT_EQ(error_of([&] { attrs.number("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.has("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.flag("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.text("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.integers("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.tensor("beta"); }), error);
  EXPECT_EQ(error_of([&] { attrs.integer("alpha"); }),
            "INTERNAL: attribute 'alpha' is read as another type than a number");
}

TEST(AttrDefs, OfEveryOperationAreWellFormed) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  std::size_t defaults = 0;
  for (const std::string& name : registry->names()) {
    const OpDef& op = *registry->find(name);
    std::set<std::string_view> names;
    for (const AttrDef& attr : op.attrs) {
      SCOPED_TRACE(name + "." + std::string(attr.name));
      EXPECT_FALSE(attr.name.empty());
      EXPECT_TRUE(names.insert(attr.name).second) << "is declared twice";
      EXPECT_FALSE(attr.doc.empty());
      EXPECT_TRUE(attr.choices.empty() || attr.type == AttrType::kString);
      EXPECT_TRUE(attr.range().empty() || attr.type == AttrType::kInt || attr.type == AttrType::kFloat);
      EXPECT_FALSE(attr.is_optional && attr.default_value);
      if (!attr.default_value) continue;
      ++defaults;
      EXPECT_EQ(attr.problem(*attr.default_value), "") << "the default is no value of it";
    }
    for (const std::string& body : op.bodies) EXPECT_TRUE(names.contains(body)) << name << " does not declare " << body;
    EXPECT_FALSE(op.checks_attrs) << name << ": of plugins' operations";
  }
  EXPECT_GT(defaults, 100u);
}

// The functions of belay/ops/*.h pass a default if their caller gives none. A node without attributes has the same
// defaults: the SDK cannot read the engine's declarations.
TEST_F(AttrsTest, TheDefaultsOfTheSdksFunctionsAreTheDeclaredOnes) {
  const Tensor two({2}, {1.f, 2.f}), cell({1, 4}, std::vector<float>(4, 0.f));
  const Output w = ops::variable(g, "w", two), a = ops::variable(g, "a", two), b = ops::variable(g, "b", two),
               c = ops::variable(g, "c", two);
  const Output one = ops::scalar(g, 0.5, DType::kFloat32), vector = ops::constant(g, two);
  const Output image = ops::constant(g, Tensor({1, 1, 1, 1}, {1.f}));
  const Output steps = ops::constant(g, Tensor({1, 2, 1}, {1.f, 2.f}));
  const Output index = ops::constant(g, Tensor({1}, std::vector<std::int64_t>{0}));
  const Output kernel = ops::constant(g, cell), bias = ops::reshape(kernel, {4});
  const std::vector<Output> made = {
      ops::leaky_relu(x),
      ops::gelu(x),
      ops::matmul(x, x),
      ops::batch_matmul(x, x),
      ops::layer_norm(x, vector, vector),
      ops::batch_norm(x, true),
      ops::convolve2d(image, image),
      ops::attention(steps, steps, steps),
      ops::lstm(steps, kernel, kernel, bias).y,
      ops::reduce_sum(x),
      ops::arg_max(x),
      ops::cumsum(x),
      ops::squeeze(image),
      ops::transpose(x),
      ops::strided_slice(x, {0}, {1}),
      ops::pad(x, {0, 0}, {0, 0}),
      ops::one_hot(index, 2),
      ops::gather(x, index),
      ops::random_uniform(g, {2}),
      ops::random_normal(g, {2}),
      ops::truncated_normal(g, {2}),
      ops::image_summary("images", image),
      ops::while_loop([](const Output& v) { return ops::greater(v, ops::zeros_like(v)); },
                      [](const Output& v) { return v; }, one),
      ops::apply_momentum(w, a, one, vector, one),
      ops::apply_adam(w, a, b, one, one, one, vector),
      ops::apply_rms_prop(w, a, b, one, vector),
      ops::apply_centered_rms_prop(w, a, b, c, one, vector),
      ops::apply_ftrl(w, a, b, one, vector),
      ops::random_shuffle_queue(g, 2, 1, {{DType::kFloat32, {}}}).handle,
      ops::queue_close(ops::fifo_queue(g, 2, {{DType::kFloat32, {}}})),
  };
  const std::set<std::string_view> needed = {"min_after_dequeue", "shape"};  // the SDK's functions have no default
  std::size_t compared = 0;
  for (const Output& o : made) {
    const Node& n = node_of(o);
    for (const AttrDef& attr : n.op->attrs) {
      const AttrValue* given = n.attrs.given(attr.name);
      if (given == nullptr || !attr.default_value || needed.contains(attr.name)) continue;
      Attrs of_node, of_operation;
      of_node.set("value", *given), of_operation.set("value", *attr.default_value);
      EXPECT_TRUE(same_attrs(of_node, of_operation)) << n.op->name << "." << attr.name;
      ++compared;
    }
  }
  EXPECT_GT(compared, 50u);
}

}  // namespace
}  // namespace belay::runtime::testing
