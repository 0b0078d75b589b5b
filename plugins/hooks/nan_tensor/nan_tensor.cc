// SPDX-License-Identifier: Apache-2.0
#include <belay/plugin.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>

namespace {

using belay::Code;
using belay::DType;

class NanTensor final : public belay::Hook {
 public:
  struct Options {
    belay::Str tensor = "loss";
    bool fail_on_nan_loss = true;
    bool check_inf = true;
  };
  static constexpr auto about = belay::about(
      "nan_tensor", "Ends the run when a tensor is NaN or infinite",
      belay::option("tensor", &Options::tensor, "scalar to watch").watching(),
      belay::option("fail_on_nan_loss", &Options::fail_on_nan_loss,
                    "true: the run fails, and no hook's end is called; false: the run stops as if it had finished. In "
                    "both cases a state that is not finite is not saved (checkpoint.refuse_non_finite)")
          .watching(),
      belay::option("check_inf", &Options::check_inf, "true: an infinite value ends the run, too").watching());

  explicit NanTensor(const Options& o) : o_(o) {}

  void begin(belay::Graph& graph) override {
    const belay::Output output = graph.find(o_.tensor);
    const DType dtype = output.dtype();
    const bool is_float =
        dtype == DType::kFloat32 || dtype == DType::kFloat64 || dtype == DType::kBFloat16 || dtype == DType::kFloat16;
    if (!is_float || output.rank() > 0)
      belay::fail(Code::kInvalidArgument, "nan_tensor watches a floating-point scalar, " + output.text() + " is none");
    tensor_ = graph.fetch(output);
    if (graph.global_step_if_exists()) step_.emplace(graph);
  }

  belay::RunArgs before_run(belay::RunContext&) override { return {tensor_}; }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const belay::TensorView tensor = values[tensor_];
    if (tensor.size() != 1)
      belay::fail(Code::kInvalidArgument, "nan_tensor watches a scalar, " + tensor_.text() + " had the shape " +
                                              belay::dims_text(tensor.dims()));
    const double value = tensor.number(0);
    if (std::isfinite(value) || (std::isinf(value) && !o_.check_inf)) return;
    const std::string found = what_is_wrong(value, run);
    if (o_.fail_on_nan_loss)
      belay::fail(Code::kDiverged,
                  "[B5043] " + found + ": training has diverged; lower the learning rate or clip the gradients");
    log_at_times("[B5043] " + found + ": training has diverged; the run stops here");
    run.request_stop((std::isnan(value) ? "NaN loss: " : "infinite loss: ") + found);
  }

 private:
  std::string what_is_wrong(double value, belay::RunContext& run) const {
    std::string text = "'" + o_.tensor.string() + "' is ";
    text += std::isnan(value) ? "nan" : value > 0 ? "inf" : "-inf";
    if (step_) text += " at step " + std::to_string(step_->read(run.session()));
    return text;
  }
  // A caller that continues after the stop request must not fill the log.
  void log_at_times(const std::string& text) {
    constexpr std::chrono::seconds kPause(10);
    const auto now = host().monotonic();
    if (last_logged_ && now - *last_logged_ < kPause) return;
    last_logged_ = now;
    host().error(text);
  }

  const Options o_;
  belay::Output tensor_;
  std::optional<belay::GlobalStep> step_;
  std::optional<std::chrono::nanoseconds> last_logged_;
};

}  // namespace

BELAY_MODULE("1.0.0", NanTensor)
