// SPDX-License-Identifier: Apache-2.0
// Operations that plugins offer, in graphs and sessions.
#include "runtime/ops/plugin/plugin_op.h"

#include <gtest/gtest.h>
#include <omp.h>

#include <atomic>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "belay/module.h"
#include "belay/ops/math.h"
#include "belay/ops/reductions.h"
#include "belay/philox.h"
#include "belay/testing/allocations.h"
#include "runtime/ops/kernels/parallel.h"
#include "runtime/ops/plugin/plugin_attrs.h"
#include "runtime/platform/threads/floating_point.h"
#include "tests/ops/plugin_op_fixture.h"
#include "tests/platform/fake_clock.h"

BELAY_COUNT_ALLOCATIONS

// An instance that let an exception escape is not called again, not even to destroy a kernel: what it holds is lost.
// [LeakSanitizer]
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:misbehaving_op";
}  // NOLINT
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options() {  // NOLINT
  return "print_suppressions=0";
}

namespace {

using belay::DType;

// scale * x + offset of each element, with the gradient of that.
class Affine final : public belay::Op {
 public:
  struct Options {
    double scale = 2;
    std::int64_t offset = 0;
    bool reversed = false;
    belay::Str mode = "plain";
    belay::List<double> unused;
  };
  static constexpr auto about =
      belay::about("affine", "scale * x + offset", belay::option("scale", &Options::scale, "factor").range(-10, 10),
                   belay::option("offset", &Options::offset, "added"),
                   belay::option("reversed", &Options::reversed, "from the last element to the first"),
                   belay::option("mode", &Options::mode, "how").choices("plain", "fancy"),
                   belay::option("unused", &Options::unused, "numbers that are not needed"));
  static constexpr auto traits = belay::OpTraits().elementwise().in_place();
  explicit Affine(const Options& o) : o_(o) {}

  void infer(belay::OpShapes& s) const override {
    s.need_dtype(0, DType::kFloat32);
    s.output_like(0);
  }
  void run(belay::OpRun& r) override {
    const float* x = r.input(0).data<const float>();
    float* y = r.output(0).data<float>();
    r.parallel(static_cast<std::int64_t>(r.input(0).size()), 16, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i)
        y[i] = static_cast<float>(o_.scale) * x[i] + static_cast<float>(o_.offset);
    });
  }
  void gradient(belay::OpGradient& g) const override { g.set(0, g.grad() * o_.scale); }

 private:
  const Options o_;
};

// Counts the runs of an instance, and notes the run's context; needs `scratch` floats of its memory.
class Contextual final : public belay::Op {
 public:
  struct Options {
    std::int64_t scratch = 0;
  };
  static constexpr auto about = belay::about("contextual", "Counts its runs",
                                             belay::option("scratch", &Options::scratch, "floats of scratch memory"));
  static constexpr auto traits = belay::OpTraits().stateful();
  explicit Contextual(const Options& o) : o_(o) {}
  void infer(belay::OpShapes& s) const override { s.output(DType::kFloat32, {3}); }
  void run(belay::OpRun& r) override {
    float* y = r.output(0).data<float>();
    auto* memory = static_cast<float*>(r.scratch(static_cast<std::size_t>(o_.scratch) * sizeof(float)));
    for (std::int64_t i = 0; i < o_.scratch; ++i) memory[i] = 1;
    y[0] = static_cast<float>(++runs_);
    y[1] = memory == nullptr ? -1 : static_cast<float>(reinterpret_cast<std::uintptr_t>(memory) % 64);
    y[2] = r.cancelled() ? 1 : 0;
    reads_only = r.input(0).read_only() && !r.output(0).read_only();
    if (in_run) in_run();
    cancelled_at_end = r.cancelled();
  }
  static inline std::function<void()> in_run;
  static inline bool cancelled_at_end = false, reads_only = false;

 private:
  const Options o_;
  int runs_ = 0;
};

// Numbers of a random stream, as many as the input has.
class Noise final : public belay::Op {
 public:
  static constexpr auto about = belay::about("noise", "Random numbers");
  static constexpr auto traits = belay::OpTraits().random();
  void infer(belay::OpShapes& s) const override { s.output_like(0); }
  void run(belay::OpRun& r) override {
    for (std::size_t i = 0; i < r.output(0).size(); ++i)
      r.output(0).data<float>()[i] = static_cast<float>(belay::philox(r.seed(), i, r.counter())[0] >> 8);
  }
};

// Any number of inputs; a sum and a count, which has no gradient.
class SumAndCount final : public belay::Op {
 public:
  static constexpr auto about = belay::about("sum-and_count", "The inputs' sum and their number");
  static constexpr auto traits = belay::OpTraits().any_inputs();
  void infer(belay::OpShapes& s) const override {
    for (std::size_t i = 1; i < s.n_inputs(); ++i) s.need_same_shape(0, i);
    s.output_like(0);
    s.output(DType::kInt64, {});
  }
  void prepare(const belay::OpSetup& setup) override { scratch_.resize(setup.output(0).size()); }
  void run(belay::OpRun& r) override {
    std::fill(scratch_.begin(), scratch_.end(), 0.f);
    for (std::size_t k = 0; k < r.n_inputs(); ++k)
      for (std::size_t i = 0; i < scratch_.size(); ++i) scratch_[i] += r.input(k).data<const float>()[i];
    std::copy(scratch_.begin(), scratch_.end(), r.output(0).data<float>());
    *r.output(1).data<std::int64_t>() = static_cast<std::int64_t>(r.n_inputs());
  }
  void gradient(belay::OpGradient& g) const override {
    for (std::size_t i = 0; i < g.n_inputs(); ++i)
      if (g.wanted(i)) g.set(i, g.grad(0));
  }

 private:
  std::vector<float> scratch_;
};

// Fails on a negative element; its name is one of the engine's own.
class Sqrt final : public belay::Op {
 public:
  static constexpr auto about = belay::about("checked_sqrt", "The root of numbers that have one");
  void infer(belay::OpShapes& s) const override { s.output_like(0); }
  void run(belay::OpRun& r) override {
    for (std::size_t i = 0; i < r.output(0).size(); ++i) {
      const float x = r.input(0).data<const float>()[i];
      if (x < 0)
        belay::fail(belay::Code::kInvalidArgument, "element " + std::to_string(i) + " is " + std::to_string(x));
      r.output(0).data<float>()[i] = std::sqrt(x);
    }
  }
};

// Remembers in which floating-point mode its callbacks were called.
class Moody final : public belay::Op {
 public:
  static constexpr auto about = belay::about("moody", "Looks at the floating-point mode");
  static inline bool kernel_mode_in_infer = true, kernel_mode_in_prepare = true, kernel_mode_in_run = false;
  static inline std::atomic<int> parts_in_kernel_mode{0};
  void infer(belay::OpShapes& s) const override {
    kernel_mode_in_infer = in_kernel_mode();
    s.output_like(0);
  }
  void prepare(const belay::OpSetup&) override { kernel_mode_in_prepare = in_kernel_mode(); }
  void run(belay::OpRun& r) override {
    kernel_mode_in_run = in_kernel_mode();
    r.parallel(64, 32, [](std::int64_t, std::int64_t) { parts_in_kernel_mode += in_kernel_mode() ? 1 : 0; });
    // A mode that an operation leaves must not reach the following kernels.
    belay::runtime::set_vector_control(0x5f80);
    omp_set_num_threads(1);
    std::fill_n(r.output(0).data<float>(), r.output(0).size(), 1.0f);
  }

 private:
  static bool in_kernel_mode() { return belay::runtime::vector_mode_is(belay::runtime::kKernelMode); }
};

}  // namespace

BELAY_MODULE("1.2.0", Affine, Noise, SumAndCount, Sqrt, Moody, Contextual)

namespace belay::runtime::testing {
namespace {

TEST(PluginOp, ItsNameInAGraphIsThePluginsInTitleCase) {
  const struct {
    const char *plugin, *operation;
  } cases[] = {{"swish", "Swish"},   {"leaky_swish", "LeakySwish"},
               {"a-b_c2d", "ABC2d"}, {"acme.swish", "AcmeSwish"},
               {"x__y_", "XY"},      {"a_2", "A2"}};
  for (const auto& c : cases) EXPECT_EQ(operation_name(c.plugin), c.operation);
}

TEST_F(PluginOpTest, ANodeHasItsShapeItsValueAndItsGradient) {
  const Output x = input({-1, 2});
  const Output y = g.node("Affine", "twice").in(x).attr("scale", 3).attr("offset", 1).output();
  EXPECT_EQ(y.text(), "'twice:0' (float32 [?, 2])");
  const std::vector<Output> dx = g.gradients({y}, {x});
  open();
  const Tensor one({1, 2}, {1.f, -2.f}), two({2, 2}, {1.f, 2.f, 3.f, 4.f});
  EXPECT_EQ(floats(y, {{x, one}}), (Floats{4, -5}));
  EXPECT_EQ(floats(y, {{x, two}}), (Floats{4, 7, 10, 13}));
  EXPECT_EQ(floats(dx[0], {{x, two}}), (Floats{3, 3, 3, 3}));
}

TEST_F(PluginOpTest, T_41b_RunAndItsPartsAreInTheHostsModeAndAllElseInTheCallers) {
  const Output x = input({64});
  const Output y = g.node("Moody").in(x).output() + ops::constant(g, Tensor(1e-10f));
  DirectSessionOptions options;
  options.threads = 2;
  open(std::move(options));
  const std::uint32_t own = vector_control();
  const int threads = omp_get_max_threads();
  FetchSet fetches({y});
  const Tensor fed({64}, Floats(64, 0.0f));
  const belay_feed feed{x.raw(), fed.view()};
  RunRequest request;
  request.fetches = &fetches;
  request.feeds = {&feed, 1};
  request.full_team = true;
  const runtime::Run done = session().run(request);
  EXPECT_FALSE(Moody::kernel_mode_in_infer);
  EXPECT_FALSE(Moody::kernel_mode_in_prepare);
  EXPECT_TRUE(Moody::kernel_mode_in_run);
  EXPECT_EQ(Moody::parts_in_kernel_mode, 2);
  EXPECT_EQ(TensorView(done.result(fetches, 0)).data<const float>()[0], 1.0f);  // upward it were more than 1
  EXPECT_EQ(vector_control() & kVectorModeBits, own & kVectorModeBits);
  EXPECT_EQ(omp_get_max_threads(), threads);
  ASSERT_FALSE(logger_.lines.empty());
  EXPECT_EQ(logger_.lines.back(),
            "warning moody: op \"moody\" (linked in, 1.2.0) in run: it changed the floating-point mode (flush-to-zero, "
            "rounding) of the thread that called it, which was put back, now and whenever it does it again");
}

TEST_F(PluginOpTest, B_17_DenormalsAreZeroInTheRunOfAnOperation) {
  const Output x = input({2});
  const Output y = g.node("Affine").in(x).attr("scale", 8.0).output();
  open();
  EXPECT_EQ(floats(y, {{x, Tensor({2}, {1e-40f, 1e-30f})}}), (Floats{0, 8e-30f}));
}

TEST_F(PluginOpTest, DefaultsOfAttributesAreThePluginsOwn) {
  const Output y = g.node("Affine").in(ops::constant(g, Tensor({2}, {1.f, 2.f}))).output();
  open();
  EXPECT_EQ(floats(y), (Floats{2, 4}));
}

TEST_F(PluginOpTest, ItMayHaveSeveralInputsAndOutputs) {
  const Output a = ops::constant(g, Tensor({2}, {1.f, 2.f})), b = ops::constant(g, Tensor({2}, {10.f, 20.f}));
  const Output sum = g.node("SumAndCount").in({a, b, a}).output();
  const std::vector<Output> d = g.gradients({sum}, {a, b});
  open();
  EXPECT_EQ(floats(sum), (Floats{12, 24}));
  EXPECT_EQ(value<std::int64_t>(sum.sibling(1)), 3);
  EXPECT_EQ(floats(d[0]), (Floats{2, 2}));
  EXPECT_EQ(floats(d[1]), (Floats{1, 1}));
}

TEST_F(PluginOpTest, AnUnknownRankIsKnownWhenItRuns) {
  const Output x = g.node("Placeholder", "x").attr("dtype", DType::kFloat32).attr("unknown_rank", true).output();
  const Output y = g.node("Affine").in(x).output();
  EXPECT_EQ(y.text(), "'Affine:0' (float32 [...])");
  open();
  EXPECT_EQ(floats(y, {{x, Tensor(3.f)}}), (Floats{6}));
  EXPECT_EQ(floats(y, {{x, Tensor({0, 3}, Floats{})}}), Floats{});
  EXPECT_EQ(floats(y, {{x, Tensor({1, 1, 1}, {1.f})}}), (Floats{2}));
}

TEST_F(PluginOpTest, B_06a_StatefulNodesAreNeitherMergedNorFolded) {
  const Output x = ops::constant(g, Tensor({1}, {0.f}));
  const Output a = g.node("Contextual", "a").in(x).output(), b = g.node("Contextual", "b").in(x).output();
  open();
  EXPECT_EQ(floats(a)[0], 1);
  EXPECT_EQ(floats(a)[0], 2);
  EXPECT_EQ(floats(b)[0], 1);
}

TEST_F(PluginOpTest, B_06b_ScratchMemoryComesFromTheRunsContext) {
  const Output x = ops::constant(g, Tensor({1}, {0.f}));
  const Output none = g.node("Contextual", "none").in(x).output();
  const Output some = g.node("Contextual", "some").in(x).attr("scratch", std::int64_t{1000}).output();
  open();
  EXPECT_EQ(floats(none)[1], -1);
  EXPECT_EQ(floats(some)[1], 0) << "64-byte aligned";
  EXPECT_EQ(floats(some)[2], 0) << "not cancelled";
}

TEST_F(PluginOpTest, B_06d_ARunThatIsLateSaysSoToTheOperation) {
  const Output y = g.node("Contextual").in(ops::constant(g, Tensor({1}, {0.f}))).output();
  FakeClock clock;
  DirectSessionOptions options;
  options.clock = &clock;
  open(std::move(options));
  RunOptions late;
  late.timeout_ms = 500;
  session().handle().run({y}, {}, late);
  EXPECT_FALSE(Contextual::cancelled_at_end);
  Contextual::in_run = [&] { clock.advance(FakeClock::kSecond); };
  error_of([&] { session().handle().run({y}, {}, late); });
  Contextual::in_run = nullptr;
  EXPECT_TRUE(Contextual::cancelled_at_end);
}

TEST_F(PluginOpTest, B_02d_InputsAreMarkedAsNotToBeWritten) {
  const Output y = g.node("Contextual").in(ops::constant(g, Tensor({1}, {0.f}))).output();
  open();
  floats(y);
  EXPECT_TRUE(Contextual::reads_only);
}

TEST_F(PluginOpTest, RandomNumbersFollowFromSeedNodeAndStep) {
  const Output x = ops::constant(g, Tensor({3}, {0.f, 0.f, 0.f}));
  const Output a = g.node("Noise", "a").in(x).output(), b = g.node("Noise", "b").in(x).output();
  open();
  const Floats first = floats(a);
  EXPECT_EQ(floats(a), first) << "the graph has no global step: the counter stays 0";
  EXPECT_NE(floats(b), first) << "equal nodes are not merged";
  EXPECT_EQ(first[0], static_cast<float>(philox(mix_key(DirectSessionOptions().seed, stream_id("a")), 0, 0)[0] >> 8));
}

TEST_F(PluginOpTest, TheResultIsTheSameOnOneThreadAndOnTwo) {
  const Output x = input({-1});
  const Output y = g.node("Affine").in(x).attr("offset", 5).output();
  graph.finalize();
  for (const std::int64_t n : {0, 1, 15, 16, 17, 1000}) {
    Floats data;
    for (std::int64_t i = 0; i < n; ++i) data.push_back(static_cast<float>(i));
    Floats results[2];
    for (const int threads : {1, 2}) {
      DirectSessionOptions options;
      options.threads = threads;
      DirectSession session(graph, store, options);
      const RunResult r = session.handle().run({y}, {{x, Tensor({n}, data)}});
      const float* out = r[0].data<const float>();
      results[threads - 1].assign(out, out + r[0].size());
    }
    ASSERT_EQ(results[0].size(), static_cast<std::size_t>(n));
    for (std::size_t i = 0; i < data.size(); ++i) ASSERT_EQ(results[0][i], 2 * data[i] + 5);
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST_F(PluginOpTest, AStepInWhichItFailsChangesNoVariable) {
  const Output x = input({2});
  const Output v = ops::variable(g, "v", Tensor({2}, {1.f, 1.f})), w = ops::variable(g, "w", Tensor({2}, {5.f, 5.f}));
  const Output root = g.node("CheckedSqrt", "root").in(x).output();
  const Output one = ops::assign_add(w, ops::constant(g, Tensor({2}, {1.f, 1.f})));
  const Output both = ops::assign_add(v, root);
  open();
  initialize();
  monitor_.step = 7;
  EXPECT_EQ(
      error_of([&] {
        session().handle().run({both.operation(), one.operation()}, {{x, Tensor({2}, {4.f, -1.f})}});
      }),
      "INVALID_ARGUMENT: node 'root' (CheckedSqrt): op \"checked_sqrt\" (linked in, 1.2.0) in run at step 7: element 1 "
      "is -1.000000");
  EXPECT_EQ(floats(v), (Floats{1, 1}));
  EXPECT_EQ(floats(w), (Floats{5, 5}));
  session().handle().run({both.operation(), one.operation()}, {{x, Tensor({2}, {4.f, 9.f})}});
  EXPECT_EQ(floats(v), (Floats{3, 4}));
  EXPECT_EQ(floats(w), (Floats{6, 6}));
}

TEST_F(PluginOpTest, AWarmRunAllocatesNothing) {
  constexpr int kThreads = kLoopsAllocate ? 1 : 2;
  const Output x = input({64});
  const Output y = g.node("Affine").in(x).output();
  const Node& node = graph.node(y.raw().node);
  const auto kernel = node.op->kernel({node, {{DType::kFloat32, {64}}}, {{DType::kFloat32, {64}}}, kThreads});
  Floats in(64, 1.f), out(64);
  void* const ins[] = {in.data()};
  void* const outs[] = {out.data()};
  for (int run = 0; run < 2; ++run) kernel->run(ins, outs, {});  // with guards
  const auto before = belay::testing::allocations();
  kernel->run(ins, outs, {});
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
  EXPECT_EQ(out[63], 2.f);
}

}  // namespace
}  // namespace belay::runtime::testing
