// SPDX-License-Identifier: Apache-2.0
// Models for tests alone.
#include <belay/ops/math.h>
#include <belay/ops/reductions.h>
#include <belay/ops/variables.h>
#include <belay/plugin.h>

#include <cstdint>
#include <cstdlib>
#include <fstream>
#include <string>

namespace {

namespace ops = belay::ops;

// Its loss uses nothing of the input.
class Blind final : public belay::Model {
 public:
  static constexpr auto about = belay::about("blind", "Finds the number 3 without looking at its input");

  void build(belay::ModelContext& model) override {
    const belay::Output weight = ops::variable(model.graph(), "weight", belay::Tensor(0.0f));
    model.loss(ops::square(weight - 3.0));
  }
};

// The length of a vector of zeros has no gradient: NaN comes out, of a loss that is finite.
class ZeroLength final : public belay::Model {
 public:
  static constexpr auto about = belay::about("zero_length", "A finite loss whose gradient is not");

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const belay::Output fine = ops::variable(g, "fine", belay::Tensor(1.0f));
    const belay::Output zeros = ops::variable(g, "zeros", belay::Tensor({3}, {0.0f, 0.0f, 0.0f}));
    const belay::Output length = ops::sqrt(ops::reduce_sum(ops::square(zeros)));
    model.loss(ops::square(fine * ops::reduce_mean(model.feature())) + length);
  }
};

// The same variables on each process; the second one is trained by the chief alone.
class OneSided final : public belay::Model {
 public:
  static constexpr auto about = belay::about("one_sided", "A model that trains more on rank 0 than on the others");

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const belay::Output both = ops::variable(g, "both", belay::Tensor(1.0f));
    const belay::Output one = ops::variable(g, "one", belay::Tensor(1.0f));
    const belay::Output loss = ops::square(both * ops::reduce_mean(model.feature()));
    const char* rank = std::getenv("RANK");  // NOLINT(concurrency-mt-unsafe)
    model.loss(rank == nullptr || std::string(rank) == "0" ? loss + ops::square(one) : loss);
  }
};

// Its numbers depend on its own file.
class Scaled final : public belay::Model {
 public:
  struct Options {
    belay::Path factor;
  };
  static constexpr auto about =
      belay::about("scaled", "A weight times a number from a file",
                   belay::option("factor", &Options::factor, "file with the number").required());
  explicit Scaled(const Options& o) { std::ifstream(o.factor.string()) >> factor_; }

  void build(belay::ModelContext& model) override {
    const belay::Output weight = ops::variable(model.graph(), "weight", belay::Tensor(1.0f));
    model.loss(ops::square(weight * factor_ * ops::reduce_mean(model.feature())));
  }

 private:
  float factor_ = 0;
};

// More variables than anybody makes by hand; one of them is trained.
class Crowd final : public belay::Model {
 public:
  struct Options {
    std::int64_t variables = 0, rank = 0;
  };
  static constexpr auto about =
      belay::about("crowd", "One weight, and very many variables that nothing changes",
                   belay::option("variables", &Options::variables, "how many").min(0),
                   belay::option("rank", &Options::rank, "number of their dimensions, each of 1").min(0).max(64));
  explicit Crowd(const Options& o) : options_(o) {}

  void build(belay::ModelContext& model) override {
    const belay::Graph& g = model.graph();
    const belay::Tensor value(belay::Dims(static_cast<std::size_t>(options_.rank), 1), {1.0f});
    for (std::int64_t i = 0; i < options_.variables; ++i)
      ops::variable(g, "crowd/v" + std::to_string(i), value, ops::VariableKind::kGlobal);
    const belay::Output weight = ops::variable(g, "weight", belay::Tensor(1.0f));
    model.loss(ops::square(weight * ops::reduce_mean(model.feature())));
  }

 private:
  const Options options_;
};

}  // namespace

BELAY_MODULE("1.0.0", Blind, ZeroLength, OneSided, Scaled, Crowd)
