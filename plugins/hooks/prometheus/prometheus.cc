// SPDX-License-Identifier: Apache-2.0
// The last numbers of a training as a text file for Prometheus: its node exporter reads the files of a folder
// (--collector.textfile.directory), so the training needs no port. Format: "Text-based format" of Prometheus'
// documentation of its exposition formats.
#include <belay/output_file.h>
#include <belay/plugin.h>

#include <cerrno>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../training_scalars.h"

namespace {

using Seconds = std::chrono::duration<double>;

// A number as Prometheus reads it.
std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  return belay::exact_text(v);
}

// The name of a metric has letters, digits and '_'.
std::string metric_name(const std::string& scalar) {
  std::string name = "belay_";
  for (const char c : scalar)
    name += (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ? c : '_';
  return name;
}

std::string label_text(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '\\' || c == '"') text += '\\';
    if (c == '\n') {
      text += "\\n";
    } else {
      text += c;
    }
  }
  return text;
}

class Prometheus final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    belay::Str output_file = "metrics.prom";
    double every_secs = 10;
  };
  static constexpr auto about = belay::about(
      "prometheus", "Keeps the last numbers of a training in a text file that Prometheus' node exporter reads",
      belay::option("tensors", &Options::tensors,
                    "scalars to show; none: the loss, the model's metrics and the learning rate")
          .watching(),
      belay::option("output_file", &Options::output_file, "the file, in the run directory or with an absolute path")
          .watching(),
      belay::option("every_secs", &Options::every_secs, "replace it every so many seconds").min(1).watching());

  explicit Prometheus(const Options& o) : path_(path_of(o)), timer_(o.every_secs, std::nullopt) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    scalars_.clear();
    for (NamedScalar& s : names_.empty() ? training_scalars(graph) : named_scalars(graph, names_, "prometheus")) {
      graph.fetch(s.output);
      scalars_.push_back({std::move(s), std::nullopt});
    }
    step_ = belay::GlobalStep(graph);
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    last_step_ = step_.read(session);
    last_time_ = host().monotonic();
    timer_.reset();
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    due_ = timer_.should_trigger_for_step(last_step_ + ++runs_, host());
    belay::RunArgs args;
    if (!due_) return args;
    for (const NamedNumber& s : scalars_) args.fetch(s.scalar.output);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (!due_) return;
    const std::int64_t step = step_.read(run.session());
    timer_.update_last_triggered_step(step, host().monotonic());
    for (NamedNumber& s : scalars_) s.number = number_of(s.scalar, values);
    write(step);
    runs_ = 0;
  }

  // The file of a run that has ended says how far it came.
  void end(belay::Session& session) override { write(step_.read(session)); }

 private:
  struct NamedNumber {
    NamedScalar scalar;
    std::optional<double> number;  // of the last step that was looked at
  };

  std::string path_of(const Options& o) const {
    std::string file = o.output_file.string();
    if (!file.empty() && file[0] == '/') return file;
    const std::string directory = host().run_directory();
    if (file.empty() || file.find('/') != std::string::npos || directory.empty())
      belay::fail(belay::Code::kInvalidArgument,
                  "'output_file' is an absolute path, or the name of a file in the run directory ([run] dir)");
    return directory + "/" + file;
  }

  static double number_of(const NamedScalar& scalar, const belay::RunValues& values) {
    const belay::TensorView value = values[scalar.output];
    if (value.size() != 1)
      belay::fail(belay::Code::kInvalidArgument, "prometheus shows scalar numbers, " + scalar.output.text() +
                                                     " had the shape " + belay::dims_text(value.dims()));
    return value.number(0);
  }

  void write(std::int64_t step) {
    const auto now = host().monotonic();
    const double seconds = Seconds(now - last_time_).count();
    std::string text;
    const auto add = [&](const std::string& name, const std::string& help, double value) {
      text += "# HELP " + name + " " + help + "\n# TYPE " + name + " gauge\n" + name + "{run=\"" +
              label_text(host().run_directory()) + "\"} " + number_text(value) + "\n";
    };
    add("belay_global_step", "Training steps that are done.", static_cast<double>(step));
    add("belay_attempt", "Which start of the run this is.", static_cast<double>(host().attempt()));
    add("belay_last_update_seconds", "When this was written, in seconds since 1970.", host().wall_seconds());
    if (seconds > 0 && step > last_step_)
      add("belay_steps_per_second", "Training steps per second since the last update.",
          static_cast<double>(step - last_step_) / seconds);
    for (const NamedNumber& s : scalars_)
      if (s.number)
        add(metric_name(s.scalar.name),
            "The scalar " + label_text(s.scalar.name) + " of the last step that was looked at.", *s.number);
    last_step_ = step;
    last_time_ = now;
    if (!belay::replace_output_file(path_, text) && !std::exchange(failed_, true))
      host().warning("'" + path_ + "' cannot be written: " + std::strerror(errno));
  }

  std::vector<std::string> names_;
  const std::string path_;
  std::vector<NamedNumber> scalars_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  bool due_ = false;
  bool failed_ = false;
  std::int64_t last_step_ = 0, runs_ = 0;
  std::chrono::nanoseconds last_time_{};
};

}  // namespace

BELAY_MODULE("1.0.0", Prometheus)
