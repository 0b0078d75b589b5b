// SPDX-License-Identifier: Apache-2.0
// Shapes that are inferred while ranks or dimensions are not known.
#include <gtest/gtest.h>

#include "belay/ops/embedding.h"
#include "belay/ops/math.h"
#include "belay/ops/matmul.h"
#include "belay/ops/reductions.h"
#include "belay/ops/shape.h"
#include "belay/ops/sorting.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

const Shape kAny = Shape::unknown();

TEST(PartialShapes, AreMerged) {
  const struct {
    Shape a, b;
    const char* expected;  // null: they contradict each other
  } cases[] = {{kAny, kAny, "[...]"},
               {kAny, {2, -1}, "[2, ?]"},
               {{2, -1}, kAny, "[2, ?]"},
               {{2, -1}, {-1, 3}, "[2, 3]"},
               {{-1, -1}, {-1, 3}, "[?, 3]"},
               {{2, 0}, {2, -1}, "[2, 0]"},
               {{}, {}, "[]"},
               {{2}, {3}, nullptr},
               {{0}, {3}, nullptr},
               {{-1}, {-1, -1}, nullptr},
               {{}, {-1}, nullptr}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.a.text() + " and " + c.b.text());
    bool ok = c.expected == nullptr;
    const Shape merged = Shape::merged(c.a, c.b, ok);
    EXPECT_EQ(ok, c.expected != nullptr);
    EXPECT_EQ(Shape::compatible(c.a, c.b), c.expected != nullptr);
    if (c.expected != nullptr) {
      EXPECT_EQ(merged.text(), c.expected);
    }
  }
}

TEST(PartialShapes, AreBroadcast) {
  const struct {
    Shape a, b;
    const char* expected;  // null: they do not fit
  } cases[] = {{kAny, kAny, "[...]"},
               {kAny, {2, 3}, "[...]"},
               {kAny, {}, "[...]"},
               {{}, {-1, 2}, "[?, 2]"},
               {{-1, 3}, {2, 1}, "[2, 3]"},
               {{-1, 3}, {3}, "[?, 3]"},
               {{-1, 3}, {1, 1}, "[?, 3]"},
               {{-1}, {-1}, "[?]"},
               {{-1}, {1}, "[?]"},
               {{-1}, {4}, "[4]"},
               {{-1}, {0}, "[0]"},
               {{1}, {0}, "[0]"},
               {{5, 1, -1}, {-1, 2}, "[5, ?, 2]"},
               {{-1, 3}, {2}, nullptr},
               {{0}, {3}, nullptr},
               {{2, -1}, {3, -1}, nullptr}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.a.text() + " and " + c.b.text());
    for (const bool turned : {false, true}) {
      bool ok = c.expected == nullptr;
      const Shape both = turned ? broadcast(c.b, c.a, ok) : broadcast(c.a, c.b, ok);
      EXPECT_EQ(ok, c.expected != nullptr);
      if (c.expected != nullptr) {
        EXPECT_EQ(both.text(), c.expected);
      }
    }
  }
}

struct PartialInput {
  Shape shape;
  DType dtype = DType::kFloat32;
};

// The shape of what is built on placeholders of these shapes, or the error.
std::string inferred_text(const Build& build, const std::vector<PartialInput>& inputs) {
  const std::unique_ptr<OpRegistry> registry = make_op_registry();
  NodeGraph graph(*registry);
  const Graph g = graph.handle();
  std::vector<Output> placeholders;
  for (const PartialInput& in : inputs)
    placeholders.push_back(in.shape.has_rank() ? ops::placeholder(g, in.dtype, in.shape.dims())
                                               : ops::placeholder_of_any_rank(g, in.dtype));
  std::string text;
  const std::string error = error_of([&] {
    const Output y = build(placeholders);
    text = dims_text(y.dims().data(), y.rank());
  });
  return error == "no error" ? text : error;
}

struct PartialCase {
  const char* what;
  Build build;
  std::vector<PartialInput> inputs;
  std::string expected;
};
void check_inferred(const std::vector<PartialCase>& cases) {
  for (std::size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE(std::string(cases[i].what) + ", case " + std::to_string(i));
    EXPECT_EQ(inferred_text(cases[i].build, cases[i].inputs), cases[i].expected);
  }
}

TEST(PartialShapes, OfElementwiseOperationsAreBroadcast) {
  const Build add = [](const Inputs& in) { return in[0] + in[1]; };
  const Build less = [](const Inputs& in) { return ops::less(in[0], in[1]); };
  const Build select = [](const Inputs& in) { return ops::select(in[0], in[1], in[2]); };
  check_inferred({{"Add", add, {{{-1, 3}}, {{2, 1}}}, "[2, 3]"},
                  {"Add", add, {{{-1, 3}}, {{3}}}, "[?, 3]"},
                  {"Add", add, {{{-1}}, {{1}}}, "[?]"},
                  {"Add", add, {{kAny}, {{2}}}, "[...]"},
                  {"Add",
                   add,
                   {{{-1, 3}}, {{2}}},
                   "INVALID_ARGUMENT: node 'Add' (Add): input 0 (float32 [?, 3]) and input 1 (float32 [2]) do not "
                   "broadcast to one shape"},
                  {"Less", less, {{{-1, 1}}, {{4, -1}}}, "[4, ?]"},
                  {"Select", select, {{{-1, 1}, DType::kBool}, {{3}}, {{}}}, "[?, 3]"},
                  {"Select", select, {{kAny, DType::kBool}, {{3}}, {{}}}, "[...]"}});
}

TEST(PartialShapes, OfPartsAreInferred) {
  using Places = std::vector<std::int64_t>;
  const auto transposed_by = [](const Places& perm) {
    return [=](const Inputs& in) { return ops::transpose(in[0], perm); };
  };
  const Build slice = [](const Inputs& in) { return ops::slice(in[0], {0, 1}, {2, -1}); };
  const auto concat = [](std::int64_t axis) { return [=](const Inputs& in) { return ops::concat(in, axis); }; };
  const Build every_second = [](const Inputs& in) { return ops::strided_slice(in[0], {1, 0}, {3, 5}, {1, 2}); };
  const Build first = [](const Inputs& in) { return ops::strided_slice(in[0], {0}, {0}, {}, {0, 0, 1}); };
  const Build pad = [](const Inputs& in) { return ops::pad(in[0], {1, 0}, {0, 2}); };
  const Build tile = [](const Inputs& in) { return ops::tile(in[0], {2, 3}); };
  check_inferred({{"Transpose", transposed_by({}), {{kAny}}, "[...]"},
                  {"Transpose", transposed_by({}), {{{-1, 3}}}, "[3, ?]"},
                  {"Transpose", transposed_by({1, 2, 0}), {{kAny}}, "[?, ?, ?]"},
                  {"Transpose", transposed_by({1, 2, 0}), {{{-1, 3, 4}}}, "[3, 4, ?]"},
                  {"Slice", slice, {{kAny}}, "[2, ?]"},
                  {"Slice", slice, {{{-1, 5}}}, "[2, 4]"},
                  {"Slice", slice, {{{7, -1}}}, "[2, ?]"},
                  {"Concat", concat(1), {{kAny}, {kAny}}, "[...]"},
                  {"Concat", concat(0), {{kAny}, {{2, 3}}}, "[?, 3]"},
                  {"Concat", concat(1), {{{-1, 3}}, {{2, -1}}}, "[2, ?]"},
                  {"Concat", concat(0), {{{2, 3}}, {{4, -1}}}, "[6, 3]"},
                  {"Concat", concat(-1), {{{-1, 3}}, {{-1, 4}}}, "[?, 7]"},
                  {"Concat",
                   concat(0),
                   {{kAny}, {{2, 3}}, {{-1, 4}}},
                   "INVALID_ARGUMENT: node 'Concat' (Concat): input 0 (float32 [...]) and input 2 (float32 [?, 4]) "
                   "must have the same dimensions except along axis 0"},
                  {"StridedSlice", every_second, {{kAny}}, "[...]"},
                  {"StridedSlice", every_second, {{{-1, 5}}}, "[?, 3]"},
                  {"StridedSlice", every_second, {{{2, -1, 7}}}, "[1, ?, 7]"},
                  {"StridedSlice", first, {{{-1, -1, 7}}}, "[?, 7]"},
                  {"Pad", pad, {{kAny}}, "[?, ?]"},
                  {"Pad", pad, {{{-1, 3}}}, "[?, 5]"},
                  {"Tile", tile, {{kAny}}, "[?, ?]"},
                  {"Tile", tile, {{{-1, 3}}}, "[?, 9]"}});
}

TEST(PartialShapes, OfProductsAndReductionsAreInferred) {
  const auto product_of = [](bool ta, bool tb) {
    return [=](const Inputs& in) { return ops::batch_matmul(in[0], in[1], ta, tb); };
  };
  const auto squeeze = [](const std::vector<std::int64_t>& axes) {
    return [=](const Inputs& in) { return ops::squeeze(in[0], axes); };
  };
  const Build arg_max = [](const Inputs& in) { return ops::arg_max(in[0], 0); };
  const Build arg_min = [](const Inputs& in) { return ops::arg_min(in[0], -1); };
  const Build one_hot = [](const Inputs& in) { return ops::one_hot(in[0], 3); };
  const Build top_2 = [](const Inputs& in) { return ops::top_k(in[0], 2).values; };
  const Build top_2_at = [](const Inputs& in) { return ops::top_k(in[0], 2).indices; };
  const Build in_top = [](const Inputs& in) { return ops::in_top_k(in[0], in[1], 2); };
  const Build gather = [](const Inputs& in) { return ops::gather(in[0], in[1], 1); };
  const DType ints = DType::kInt32;
  check_inferred({{"BatchMatMul", product_of(false, false), {{kAny}, {{2, 3, 4}}}, "[...]"},
                  {"BatchMatMul", product_of(false, false), {{{-1, 2, 3}}, {{-1, 3, 4}}}, "[?, 2, 4]"},
                  {"BatchMatMul", product_of(false, false), {{{-1, -1, 3}}, {{5, 1, -1, 4}}}, "[5, ?, ?, 4]"},
                  {"BatchMatMul", product_of(true, true), {{{-1, 2, -1}}, {{7, 4, -1}}}, "[7, ?, 4]"},
                  {"Squeeze", squeeze({}), {{kAny}}, "[...]"},
                  {"Squeeze", squeeze({0}), {{kAny}}, "[...]"},
                  {"Squeeze", squeeze({}), {{{1, -1}}}, "[...]"},
                  {"Squeeze", squeeze({0}), {{{-1, -1, 2}}}, "[?, 2]"},
                  {"ArgMax", arg_max, {{kAny}}, "[...]"},
                  {"ArgMax", arg_max, {{{-1, 3}}}, "[3]"},
                  {"ArgMin", arg_min, {{kAny}}, "[...]"},
                  {"ArgMin", arg_min, {{{-1, 3}}}, "[?]"},
                  {"OneHot", one_hot, {{kAny, ints}}, "[...]"},
                  {"OneHot", one_hot, {{{2, -1}, ints}}, "[2, ?, 3]"},
                  {"TopK", top_2, {{kAny}}, "[...]"},
                  {"TopK", top_2, {{{-1, -1}}}, "[?, 2]"},
                  {"TopK", top_2_at, {{{4, -1}}}, "[4, 2]"},
                  {"InTopK", in_top, {{kAny}, {kAny, ints}}, "[?]"},
                  {"InTopK", in_top, {{{-1, 5}}, {{-1}, ints}}, "[?]"},
                  {"InTopK", in_top, {{kAny}, {{4}, ints}}, "[4]"},
                  {"InTopK", in_top, {{{4, -1}}, {{-1}, ints}}, "[4]"},
                  {"Gather", gather, {{kAny}, {{2}, ints}}, "[...]"},
                  {"Gather", gather, {{{-1, 3, 4}}, {{-1, 2}, ints}}, "[?, ?, 2, 4]"}});
}

// Made by hand, on shapes of which enough is unknown.
TEST(PartialShapes, OfGradientNodesAreThoseOfTheInput) {
  using Places = std::vector<std::int64_t>;
  const auto node = [](const char* op, const std::vector<std::pair<const char*, Places>>& attrs) {
    return [=](const Inputs& in) {
      NodeBuilder builder = in[0].graph().node(op);
      for (const auto& [name, value] : attrs) builder.attr(name, value);
      return builder.in(in).output();
    };
  };
  const Build prod = node("ProdGrad", {{"axes", {1}}});
  const Build slice = node("SliceGrad", {{"begin", {1, 0}}, {"size", {-1, 2}}});
  const Build strided = node("StridedSliceGrad", {{"begin", {1}}, {"end", {3}}});
  const Build pad = node("PadGrad", {{"before", {1, 0}}, {"after", {0, 2}}});
  const Build tile = node("TileGrad", {{"multiples", {2, 3}}});
  const Build top_k = node("TopKGrad", {});
  const Build concat = [](const Inputs& in) {
    return in[0].graph().node("ConcatGrad").in(in).attr("index", 0).output();
  };
  for (const Build& build : {prod, slice, strided, pad, tile})
    check_inferred({{"any and any", build, {{kAny}, {kAny}}, "[...]"}, {"any", build, {{kAny}, {{-1, 4}}}, "[?, 4]"}});
  const std::string which = ", by the attributes and input 1 (float32 [?, 4])";
  check_inferred(
      {{"ProdGrad", prod, {{{-1}}, {{3, -1}}}, "[3, ?]"},
       {"SliceGrad", slice, {{{-1, 2}}, {{-1, 4}}}, "[?, 4]"},
       {"SliceGrad",
        slice,
        {{{-1, 3}}, {{-1, 4}}},
        "INVALID_ARGUMENT: node 'SliceGrad' (SliceGrad): input 0 (float32 [?, 3]) must have the shape [?, 2] of the "
        "slice of input 1 (float32 [?, 4])"},
       {"StridedSliceGrad", strided, {{{2, -1}}, {{-1, 4}}}, "[?, 4]"},
       {"StridedSliceGrad",
        strided,
        {{{2, 3}}, {{-1, 4}}},
        "INVALID_ARGUMENT: node 'StridedSliceGrad' (StridedSliceGrad): input 0 (float32 [2, 3]) must have the shape "
        "[?, 4]" +
            which},
       {"PadGrad", pad, {{{-1, 6}}, {{-1, 4}}}, "[?, 4]"},
       {"PadGrad",
        pad,
        {{{-1, 5}}, {{-1, 4}}},
        "INVALID_ARGUMENT: node 'PadGrad' (PadGrad): input 0 (float32 [?, 5]) must have the shape [?, 6]" + which},
       {"TileGrad", tile, {{{-1, 12}}, {{-1, 4}}}, "[?, 4]"},
       {"TileGrad",
        tile,
        {{{-1}}, {{-1, 4}}},
        "INVALID_ARGUMENT: node 'TileGrad' (TileGrad): input 0 (float32 [?]) must have the shape [?, 12]" + which},
       {"TopKGrad", top_k, {{kAny}, {kAny, DType::kInt32}, {kAny}}, "[...]"},
       {"TopKGrad", top_k, {{{-1, 2}}, {kAny, DType::kInt32}, {{3, -1}}}, "[3, ?]"},
       {"ConcatGrad", concat, {{kAny}, {kAny}, {kAny}}, "[...]"},
       {"ConcatGrad", concat, {{{-1, 3}}, {{-1, -1}}, {{2, 3}}}, "[?, ?]"}});
}

}  // namespace
}  // namespace belay::runtime::testing
