// SPDX-License-Identifier: Apache-2.0
// Writes the numbers of a training for programs: one JSON object a line, in a file that only grows.
// docs/reference/metrics.md has the format.
#include <belay/lines_file.h>
#include <belay/log_fields.h>   // json_number, json_text
#include <belay/output_file.h>  // path_in_run_directory
#include <belay/plugin.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "../training_scalars.h"

namespace {

using belay::Code;
using belay::Output;
using Seconds = std::chrono::duration<double>;

class JsonLines final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    belay::Str output_file = "metrics.jsonl";
    std::int64_t every_n_steps = 10;
    std::int64_t max_steps = 0;
  };
  static constexpr auto about = belay::about(
      "json_lines", "Writes the numbers of a training into a file in the run directory, one JSON object per line",
      belay::option("tensors", &Options::tensors,
                    "scalars to write; if empty, the loss, the model's metrics and the learning rate")
          .watching(),
      belay::option("output_file", &Options::output_file, "name of the file in the run directory").watching(),
      belay::option("every_n_steps", &Options::every_n_steps,
                    "period of the lines, in steps; a multiple of it if that is more than ten lines per second")
          .min(1)
          .watching(),
      belay::option("max_steps", &Options::max_steps,
                    "last step of the run, which always has a line; 0 means not known")
          .min(0)
          .watching());

  explicit JsonLines(const Options& o)
      : every_(o.every_n_steps),
        max_steps_(o.max_steps),
        file_(host(), belay::path_in_run_directory(host(), "json_lines", "output_file", o.output_file.view(),
                                                   "metrics.jsonl")) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    scalars_ = names_.empty() ? training_scalars(graph) : named_scalars(graph, names_, "json_lines");
    loss_ = Output();
    for (const NamedScalar& s : scalars_) {
      graph.fetch(s.output);
      if (s.name == "loss") loss_ = s.output;
    }
    examples_ = ExamplesPerStep(graph, host());
    step_ = belay::GlobalStep(graph);
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    const std::int64_t step = step_.read(session);
    line_step_ = step;
    line_time_ = flush_time_ = host().monotonic();
    steps_between_ = every_;
    measures_ = false;
    // The steps after this one, whose lines may be in the file, are made again.
    file_.add("{\"step\":" + std::to_string(step) + head() + ",\"event\":\"start\"}");
    file_.flush();
    next_step_ = step + 1;  // the first step of a session
    running_step_ = step + 1;
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    due_ = running_step_ >= next_step_ || running_step_ == max_steps_;
    belay::RunArgs args{step_.fetch()};
    if (!due_) {
      if (loss_) args.fetch(loss_);  // fetched for the last step, since any run may be the last
      return args;
    }
    for (const NamedScalar& s : scalars_) args.fetch(s.output);
    if (examples_.tensor()) args.fetch(examples_.tensor());
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    std::int64_t step = step_.predicted(values);
    if (loss_) last_loss_ = number(values[loss_], loss_);
    if (due_) {
      step = step_.read(run.session());
      write(step, values);
    }
    running_step_ = step + step_.steps_per_run();
  }

  void end(belay::Session& session) override {
    const std::int64_t step = step_.read(session);
    std::string line = "{\"step\":" + std::to_string(step) + head() + ",\"event\":\"end\"";
    if (loss_ && step != line_step_) line += ",\"loss\":" + number_text(last_loss_, loss_.dtype());
    file_.add(line + "}");
    file_.flush();
  }
  void on_error(const belay::Error&) override { file_.flush(); }
  void before_save(belay::Session&, std::int64_t) override { file_.flush(); }

 private:
  // Returns `,"attempt":2,"time":1767225600.25`.
  std::string head() const {
    char time[64];
    const auto end = std::to_chars(time, time + sizeof(time), host().wall_seconds(), std::chars_format::fixed, 3).ptr;
    return ",\"attempt\":" + std::to_string(host().attempt()) + ",\"time\":" + std::string(time, end);
  }

  void write(std::int64_t step, const belay::RunValues& values) {
    std::string line = "{\"step\":" + std::to_string(step) + head();
    for (const NamedScalar& s : scalars_)
      (line += ',') +=
          belay::detail::json_text(s.name) + ":" + number_text(number(values[s.output], s.output), s.output.dtype());
    const auto now = host().monotonic();
    const double seconds = Seconds(now - line_time_).count();
    const double rate = seconds > 0 ? static_cast<double>(step - line_step_) / seconds : 0;
    // The first run of a session also waits for things that come once, so its rate is no measure.
    if (measures_ && rate > 0) add_rates(line, rate, values);
    file_.add(line + "}");
    if (measures_ && rate > 0) steps_between_ = steps_between(rate);
    measures_ = true;
    line_step_ = step;
    line_time_ = now;
    next_step_ = (step / steps_between_ + 1) * steps_between_;
    flush_in_time(now, rate);
  }
  static double number(const belay::TensorView& value, const Output& output) {
    if (value.size() != 1)
      belay::fail(Code::kInvalidArgument, "json_lines shows scalar numbers, " + output.text() + " had the shape " +
                                              belay::dims_text(value.dims()));
    return value.number(0);
  }
  // Formats a float32 with the digits of a float32.
  static std::string number_text(double v, belay::DType dtype) {
    if (dtype != belay::DType::kFloat32 || !std::isfinite(v)) return belay::detail::json_number(v);
    char text[32];
    return std::string(text, std::to_chars(text, text + sizeof(text), static_cast<float>(v)).ptr);
  }
  void add_rates(std::string& line, double rate, const belay::RunValues& values) const {
    line += ",\"steps_per_sec\":" + belay::rounded_text(rate);
    if (examples_.tensor())
      line += ",\"examples_per_sec\":" + belay::rounded_text(rate * static_cast<double>(examples_.of(values)));
  }
  // Limits the file to ten lines a second.
  std::int64_t steps_between(double rate) const {
    constexpr double kMostLinesASecond = 10;
    const double periods = rate / kMostLinesASecond / static_cast<double>(every_);
    return every_ * std::max<std::int64_t>(1, static_cast<std::int64_t>(std::ceil(std::min(periods, 1e9))));
  }
  // Puts each line into the file at most a second after it was made. No thread looks at the clock between two lines, so
  // it flushes now if the next line may come later. If an evaluation follows, the line waits for its end.
  void flush_in_time(std::chrono::nanoseconds now, double rate) {
    const double next = rate > 0 ? static_cast<double>(next_step_ - line_step_) / rate : 1;
    if (Seconds(now - flush_time_).count() + next < 1) return;
    file_.flush();
    flush_time_ = now;
  }
  std::vector<std::string> names_;
  const std::int64_t every_;
  const std::int64_t max_steps_;
  belay::LinesFile file_;
  std::vector<NamedScalar> scalars_;
  Output loss_;  // one of the tensors; empty: it is not among them
  double last_loss_ = 0;
  ExamplesPerStep examples_;
  belay::GlobalStep step_;

  bool due_ = false;
  bool measures_ = false;  // true: this session has written a line
  std::int64_t running_step_ = 0, next_step_ = 0, steps_between_ = 1;
  std::int64_t line_step_ = 0;
  std::chrono::nanoseconds line_time_{}, flush_time_{};
};

}  // namespace

BELAY_MODULE("1.0.0", JsonLines)
