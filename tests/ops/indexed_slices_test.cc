// SPDX-License-Identifier: Apache-2.0
#include "belay/ops/indexed_slices.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "belay/ops/training.h"
#include "tests/ops/kernel_check.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using Ids = std::vector<std::int64_t>;

// The inputs are a table, then slices and indices of each part. Output 0 is the indices, output 1 the rows.
Build summed(bool rows) {
  return [=](const Inputs& in) {
    std::vector<ops::IndexedSlices> parts;
    for (std::size_t i = 1; i + 1 < in.size(); i += 2) parts.push_back({in[i + 1], in[i]});
    const ops::IndexedSlices sum = ops::sum_indexed_slices(in[0], parts);
    return rows ? sum.rows : sum.indices;
  };
}

TEST(SumIndexedSlices, EachIdComesOnceWithItsSum) {
  const std::vector<Tensor> in = {
      Tensor({6, 2}, std::vector<float>(12)), Tensor({4, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f, 7.f, 8.f}),
      Tensor({4}, Ids{5, 0, 5, 3}), Tensor({1, 1, 2}, {10.f, 20.f}), Tensor({1, 1}, std::vector<std::int32_t>{3})};
  EXPECT_EQ(run_op<std::int64_t>(summed(false), in), (Ids{0, 3, 5, -1, -1}));
  EXPECT_EQ(run_op<float>(summed(true), in), (std::vector<float>{3, 4, 17, 28, 6, 8, 0, 0, 0, 0}));
}

TEST(SumIndexedSlices, NoIdsMakeNoRows) {
  const std::vector<Tensor> in = {Tensor({6}, std::vector<double>(6)), Tensor({0}, std::vector<double>()),
                                  Tensor({0}, Ids{})};
  EXPECT_EQ(run_op<std::int64_t>(summed(false), in), Ids());
  EXPECT_EQ(run_op<double>(summed(true), in), std::vector<double>());
}

TEST(SumIndexedSlices, ThereAreNoMoreRowsThanTheTableHas) {
  const std::vector<Tensor> in = {Tensor({2, 1}, std::vector<float>(2)), Tensor({3, 1}, {1.f, 2.f, 3.f}),
                                  Tensor({3}, Ids{1, 1, 1})};
  EXPECT_EQ(run_op<std::int64_t>(summed(false), in), (Ids{1, -1}));
  EXPECT_EQ(run_op<float>(summed(true), in), (std::vector<float>{6, 0}));
}

// Rows of several batches or processes, each after the other: a sum is in this order.
TEST(SumIndexedSlices, PaddedSlicesWithoutARowAreLeftOut) {
  const auto padded = [](bool rows) -> Build {
    return [=](const Inputs& in) {
      const Output indices =
          in[0].graph().node("SumIndexedSlices").in(in[0]).in(in[1]).in(in[2]).attr("padded", true).output();
      return rows ? indices.sibling(1) : indices;
    };
  };
  const std::vector<Tensor> in = {Tensor({6, 1}, std::vector<float>(6)),
                                  Tensor({6, 1}, {1e8f, 5.f, 99.f, 1.f, -1e8f, 99.f}),
                                  Tensor({6}, Ids{3, 4, -1, 3, 3, -1})};
  EXPECT_EQ(run_op<std::int64_t>(padded(false), in), (Ids{3, 4, -1, -1, -1, -1}));
  EXPECT_EQ(run_op<float>(padded(true), in), (std::vector<float>{1e8f + 1.f - 1e8f, 5, 0, 0, 0, 0}));
  EXPECT_EQ(run_error(padded(false), {Tensor({3}, {1.f, 2.f, 3.f}), Tensor({1}, {1.f}), Tensor({1}, Ids{-2})}),
            "INVALID_ARGUMENT: node 'SumIndexedSlices' (SumIndexedSlices): index -2 at position 0 is not in [0, 3)");
}

struct SumCase {
  std::int64_t entries, width;
  std::vector<std::int64_t> picks;  // of each part
};

template <class T>
void expect_bits_of_the_dense_gradient(const SumCase& c) {
  const Dims dims{c.entries, c.width};
  std::vector<Tensor> in = {Tensor(dims, std::vector<T>(static_cast<std::size_t>(c.entries * c.width)))};
  std::uint64_t state = 7;
  const auto random = [&] { return state = state * 6364136223846793005u + 1442695040888963407u, state >> 33; };
  for (const std::int64_t picks : c.picks) {
    std::vector<T> slices(static_cast<std::size_t>(picks * c.width));
    for (T& x : slices) x = static_cast<T>(random() % 2001) / 977 - 1;
    Ids ids(static_cast<std::size_t>(picks));
    for (std::int64_t& id : ids) id = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(c.entries));
    in.push_back(Tensor({picks, c.width}, slices));
    in.push_back(Tensor({picks}, ids));
  }
  const auto dense = run_op<T>(
      [](const Inputs& all) {
        std::vector<Output> of_gathers;
        for (std::size_t i = 1; i < all.size(); i += 2)
          of_gathers.push_back(
              all[0].graph().node("GatherGrad").in(all[i]).in(all[i + 1]).in(all[0]).attr("axis", 0).output());
        if (of_gathers.size() == 1) return of_gathers[0];
        NodeBuilder sum = all[0].graph().node("AddN");
        return sum.in(of_gathers).output();
      },
      in);
  const Ids ids = run_op<std::int64_t>(summed(false), in);
  for (const int threads : {1, 2, 3}) {
    const std::vector<T> rows = run_op<T>(summed(true), in, threads);
    std::vector<T> put_back(dense.size());
    for (std::size_t i = 0; i < ids.size() && ids[i] >= 0; ++i)
      std::copy_n(rows.begin() + static_cast<std::ptrdiff_t>(i) * c.width, c.width,
                  put_back.begin() + ids[i] * c.width);
    EXPECT_EQ(put_back, dense) << threads << " threads";
  }
}

TEST(SumIndexedSlices, T_173_TheRowsHaveTheBitsOfTheDenseGradientAtAnyNumberOfThreads) {
  for (const SumCase& c : {SumCase{7, 160, {4000}}, SumCase{300, 33, {500, 1, 700}}, SumCase{70000, 1, {3000, 3000}},
                           SumCase{1, 5, {20}}, SumCase{257, 64, {1024, 0, 3}}}) {
    SCOPED_TRACE(dims_text({c.entries, c.width}));
    expect_bits_of_the_dense_gradient<float>(c);
    expect_bits_of_the_dense_gradient<double>(c);
  }
}

TEST(SumIndexedSlices, BadInputIsNamed) {
  const Spec table{DType::kFloat32, {5, 3}}, slices{DType::kFloat32, {4, 3}}, ids{DType::kInt32, {4}};
  const std::string node = "INVALID_ARGUMENT: node 'SumIndexedSlices' (SumIndexedSlices): ";
  EXPECT_EQ(build_error(summed(true), {table, slices, ids}), "no error");
  EXPECT_EQ(build_error(summed(true), {table}), node + "expected a table, and slices with their indices, got 1 inputs");
  EXPECT_EQ(build_error(summed(true), {table, {DType::kFloat32, {4, 2}}, ids}),
            node + "input 1 (float32 [4, 2]) is not what input 2 (int32 [4]) picks from input 0 (float32 [5, 3])");
  EXPECT_EQ(build_error(summed(true), {table, {DType::kFloat64, {4, 3}}, ids}),
            node + "input 0 (float32 [5, 3]) and input 1 (float64 [4, 3]) must have the same dtype");
  EXPECT_EQ(build_error(summed(true), {table, slices, {DType::kUInt8, {4}}}),
            node + "input 2 (uint8 [4]) must be int32 or int64");
  EXPECT_EQ(build_error(summed(true), {{DType::kFloat32, {}}, slices, ids}),
            node + "input 0 (float32 []) must have at least one dimension");
  for (const std::int64_t bad : {3, -1})
    EXPECT_EQ(
        run_error(summed(true), {Tensor({3}, {1.f, 2.f, 3.f}), Tensor({2}, {1.f, 2.f}), Tensor({2}, Ids{0, bad})}),
        node + "index " + std::to_string(bad) + " at position 1 is not in [0, 3)");
}

// An update of a variable [40, width] and its slots, dense or of rows.
struct SparseUpdateCase {
  const char* op;
  int slots;
  int scalars;
  std::size_t grad;  // the input
};
const SparseUpdateCase kSparseUpdates[] = {{"ApplyGradientDescent", 0, 1, 2},
                                           {"ApplyMomentum", 1, 2, 3},
                                           {"ApplyAdam", 2, 3, 6},
                                           {"ApplyAdagrad", 1, 1, 3},
                                           {"ApplyFtrl", 2, 1, 4}};

class SparseUpdates : public SessionTest {
 protected:
  struct Inputs {
    std::vector<Output> variables, scalars;
  };
  Inputs inputs(const SparseUpdateCase& c, DType dtype, std::int64_t width) {
    Inputs in;
    for (int i = 0; i <= c.slots; ++i) {
      Tensor t(dtype, {40, width});
      for (std::size_t e = 0; e < t.size(); ++e)
        set(t, e, 0.25 + 0.5 * std::fabs(std::sin(static_cast<double>(e + 1))));
      in.variables.push_back(ops::variable(g, "v", t));
    }
    for (int i = 0; i < c.scalars; ++i) in.scalars.push_back(ops::scalar(g, 0.3 + 0.1 * i, dtype));
    return in;
  }
  Output update(const SparseUpdateCase& c, const Inputs& in, const Output& grad, const Output& indices = {}) {
    std::vector<Output> all = in.variables;
    all.insert(all.end(), in.scalars.begin(), in.scalars.end());
    all.insert(all.begin() + static_cast<std::ptrdiff_t>(c.grad), grad);
    if (indices) all.push_back(indices);
    NodeBuilder node = g.node(std::string(indices ? "Sparse" : "") + c.op, "u");
    node.in(all);
    if (std::string_view(c.op) == "ApplyMomentum") node.attr("use_nesterov", true);
    return node.output();
  }
  static void set(Tensor& t, std::size_t e, double x) {
    if (t.dtype() == DType::kFloat32) {
      t.data<float>()[e] = static_cast<float>(x);
    } else {
      t.data<double>()[e] = x;
    }
  }
  std::vector<double> numbers(const Output& o) {
    const RunResult r = session().handle().run({o});
    std::vector<double> all;
    for (std::size_t i = 0; i < r[0].size(); ++i) all.push_back(r[0].number(i));
    return all;
  }
};

TEST_F(SparseUpdates, ARowGetsTheBitsOfTheDenseUpdateAndTheOthersStay) {
  const Ids ids = {1, 2, 17, 39, -1, -1};
  struct Pair {
    Inputs dense, sparse;
    std::int64_t width;
  };
  std::vector<Pair> pairs;
  std::vector<Output> updates;
  for (const SparseUpdateCase& c : kSparseUpdates)
    for (const DType dtype : {DType::kFloat32, DType::kFloat64})
      for (const std::int64_t width : {1, 7, 32}) {
        Tensor rows(dtype, {6, width}), dense(dtype, {40, width});
        for (std::size_t e = 0; e < rows.size(); ++e) {
          set(rows, e, std::cos(static_cast<double>(e)));
          const std::int64_t id = ids[e / static_cast<std::size_t>(width)];
          if (id >= 0)
            set(dense, static_cast<std::size_t>(id * width) + e % static_cast<std::size_t>(width),
                std::cos(static_cast<double>(e)));
        }
        Pair p{inputs(c, dtype, width), inputs(c, dtype, width), width};
        updates.push_back(update(c, p.dense, ops::constant(g, dense)));
        updates.push_back(update(c, p.sparse, ops::constant(g, rows), ops::constant(g, Tensor({6}, ids))));
        pairs.push_back(p);
      }
  const Output train = ops::group(g, updates);
  DirectSessionOptions options;
  options.threads = 2;
  open(options);
  initialize();
  std::vector<std::vector<std::vector<double>>> before;
  for (const Pair& p : pairs) {
    before.emplace_back();
    for (const Output& v : p.sparse.variables) before.back().push_back(numbers(v));
  }
  run(train);
  for (std::size_t i = 0; i < pairs.size(); ++i)
    for (std::size_t v = 0; v < pairs[i].sparse.variables.size(); ++v) {
      const std::vector<double> dense = numbers(pairs[i].dense.variables[v]),
                                sparse = numbers(pairs[i].sparse.variables[v]);
      for (std::size_t e = 0; e < sparse.size(); ++e) {
        const auto row = static_cast<std::int64_t>(e) / pairs[i].width;
        const bool used = std::find(ids.begin(), ids.end(), row) != ids.end();
        ASSERT_EQ(sparse[e], used ? dense[e] : before[i][v][e])
            << "pair " << i << ", variable " << v << ", element " << e;
      }
    }
}

TEST_F(SparseUpdates, AWrongIndexFailsBeforeAnyWrite) {
  const SparseUpdateCase& descent = kSparseUpdates[0];
  const Inputs in = inputs(descent, DType::kFloat32, 1);
  const Output indices = ops::placeholder(g, DType::kInt64, {-1}, "indices");
  const Output train = update(descent, in, ops::constant(g, Tensor({3, 1}, {1.f, 2.f, 3.f})), indices);
  open();
  initialize();
  const std::vector<double> before = numbers(in.variables[0]);
  struct Wrong {
    Ids ids;
    std::string what;
  };
  for (const Wrong& w : {Wrong{{0, 40, -1}, "index 40 at position 1"}, Wrong{{3, 3, -1}, "index 3 at position 1"},
                         Wrong{{3, 2, -1}, "index 2 at position 1"}, Wrong{{-2, 2, 3}, "index -2 at position 0"},
                         Wrong{{2, -1, 3}, "index 3 at position 2"}})
    EXPECT_EQ(error_of([&] {
                values<float>(train, {{indices, Tensor({3}, w.ids)}});
              }),
              "INVALID_ARGUMENT: node 'u' (SparseApplyGradientDescent): " + w.what +
                  " is wrong: indices are in [0, 40), ascending, each once, and followed by -1 alone, as "
                  "SumIndexedSlices makes them");
  EXPECT_EQ(error_of([&] {
              values<float>(train, {{indices, Tensor({2}, Ids{1, 2})}});
            }),
            "INVALID_ARGUMENT: node 'u' (SparseApplyGradientDescent): input 2 (float32 [3, 1]) must have the shape [2, "
            "1]: a row of the variable for each index");
  EXPECT_EQ(numbers(in.variables[0]), before);
}

TEST(SparseUpdatesBuilt, BadInputOfEachUpdateIsNamed) {
  for (const SparseUpdateCase& c : kSparseUpdates) {
    SCOPED_TRACE(c.op);
    const std::string op = std::string("Sparse") + c.op, node = "INVALID_ARGUMENT: node 'u' (" + op + "): ";
    const auto error_with = [&](std::size_t which, const Spec& spec) {
      std::vector<Spec> specs(static_cast<std::size_t>(1 + c.slots), {DType::kFloat32, {5, 3}});
      specs.resize(specs.size() + static_cast<std::size_t>(c.scalars), {DType::kFloat32, {}});
      specs.insert(specs.begin() + static_cast<std::ptrdiff_t>(c.grad), {DType::kFloat32, {4, 3}});
      specs.push_back({DType::kInt64, {4}});
      specs[which] = spec;
      return build_error(
          [&](const std::vector<Output>& in) {
            std::vector<Output> all = in;
            all[0] = ops::variable(in[0].graph(), "v", Tensor(DType::kFloat32, {5, 3}));
            return in[0].graph().node(op, "u").in(all).output();
          },
          specs);
    };
    const std::size_t last = static_cast<std::size_t>(1 + c.slots + c.scalars + 1);
    EXPECT_EQ(error_with(0, {DType::kFloat32, {5, 3}}), "no error");
    EXPECT_EQ(error_with(c.grad, {DType::kFloat32, {4, 2}}),
              node + "input " + std::to_string(c.grad) +
                  " (float32 [4, 2]) must have the shape [4, 3]: a row of the variable for each index");
    EXPECT_EQ(error_with(c.grad, {DType::kFloat64, {4, 3}}), node + "input 0 (float32 [5, 3]) and input " +
                                                                 std::to_string(c.grad) +
                                                                 " (float64 [4, 3]) must have the same dtype");
    EXPECT_EQ(error_with(last, {DType::kInt32, {4}}),
              node + "input " + std::to_string(last) + " (int32 [4]) must be int64");
    EXPECT_EQ(error_with(last, {DType::kInt64, {4, 1}}),
              node + "input " + std::to_string(last) + " (int64 [4, 1]) must have 1 dimension");
    if (c.slots > 0) {
      EXPECT_EQ(error_with(1, {DType::kFloat32, {4, 3}}),
                node + "input 1 (float32 [4, 3]) must have the shape of the variable, input 0 (float32 [5, 3])");
    }
  }
}

}  // namespace
}  // namespace belay::runtime::testing
