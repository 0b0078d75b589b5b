// SPDX-License-Identifier: Apache-2.0
#include <belay/ops/math.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace {

namespace ops = belay::ops;
using belay::Code;
using belay::Output;
using belay::ScheduleContext;

class PiecewiseConstant final : public belay::Schedule {
 public:
  struct Options {
    belay::List<std::int64_t> boundaries;
    belay::List<double> values;
  };
  static constexpr auto about =
      belay::about("piecewise_constant", "values[i] while t <= boundaries[i], and then the last value",
                   belay::option("boundaries", &Options::boundaries, "steps in ascending order")
                       .range(0, 1e15)
                       .example(10000, 20000),
                   belay::option("values", &Options::values, "learning rates, one more than boundaries")
                       .range(0, 1e30)
                       .required()
                       .example(0.1, 0.01, 0.001));

  explicit PiecewiseConstant(const Options& o)
      : boundaries_(o.boundaries.begin(), o.boundaries.end()), values_(o.values.begin(), o.values.end()) {
    if (std::adjacent_find(boundaries_.begin(), boundaries_.end(), std::greater_equal<>()) != boundaries_.end())
      belay::fail(Code::kInvalidArgument, "the boundaries must rise: each is a step, and later than the one before");
    if (values_.size() != boundaries_.size() + 1)
      belay::fail(Code::kInvalidArgument,
                  "values has " + std::to_string(values_.size()) + " numbers and boundaries " +
                      std::to_string(boundaries_.size()) +
                      "; there must be one value more than boundaries: values[i] holds up to boundaries[i], the last "
                      "one after all of them");
  }

  Output build(const ScheduleContext& s) override {
    if (s.learning_rate_is_given())
      belay::fail(Code::kInvalidArgument, "piecewise_constant has its rates in values; take learning_rate away");
    Output value = s.scalar(values_.back());
    for (std::size_t i = boundaries_.size(); i-- > 0;)
      value = ops::select(ops::less_equal(s.step(), s.scalar(static_cast<double>(boundaries_[i]))),
                          s.scalar(values_[i]), value);
    return value;
  }

 private:
  const std::vector<std::int64_t> boundaries_;
  const std::vector<double> values_;
};

}  // namespace

BELAY_MODULE("1.0.0", PiecewiseConstant)
