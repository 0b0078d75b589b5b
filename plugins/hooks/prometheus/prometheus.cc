// SPDX-License-Identifier: Apache-2.0
// Writes the last numbers of a training as a text file for Prometheus. Its node exporter reads the files of a folder
// (--collector.textfile.directory), so the training needs no port. Format: "Text-based format" of Prometheus'
// documentation of its exposition formats. All training numbers in one file are of one step.
#include <belay/output_file.h>
#include <belay/plugin.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "../training_scalars.h"

namespace {

using Seconds = std::chrono::duration<double>;

// Formats a number for Prometheus.
std::string number_text(double v) {
  if (std::isnan(v)) return "NaN";
  if (std::isinf(v)) return v > 0 ? "+Inf" : "-Inf";
  return belay::exact_text(v);
}

// Returns a metric's name: letters, digits and '_'.
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
      "prometheus", "Keeps the last numbers of a training in a text file for the node exporter of Prometheus",
      belay::option("tensors", &Options::tensors,
                    "scalars to write; if empty, the loss, the metrics of the model and of the evaluations, and the "
                    "learning rate")
          .watching(),
      belay::option("output_file", &Options::output_file, "name of the file in the run directory, or an absolute path")
          .watching(),
      belay::option("every_secs", &Options::every_secs, "period in which the file is replaced, in seconds")
          .min(1)
          .watching());

  explicit Prometheus(const Options& o) : path_(path_of(o)), timer_(o.every_secs, std::nullopt) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    scalars_.clear();
    for (NamedScalar& s : names_.empty() ? all_scalars(graph) : named_scalars(graph, names_, "prometheus")) {
      graph.fetch(s.output);
      const belay::Output evaluated = step_of_evaluation(graph, s.name);
      if (evaluated) graph.fetch(evaluated);
      scalars_.push_back({std::move(s), evaluated, std::nullopt});
    }
    check_names();
    step_ = belay::GlobalStep(graph);
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    last_step_ = step_.read(session);
    // A session that begins before the step of the numbers makes their steps again.
    if (numbers_step_ != last_step_) forget_numbers();
    numbers_step_ = last_step_;
    last_time_ = host().monotonic();
    timer_.reset();
    state_ = State::kRunning;
  }

  // Every run fetches the numbers, since only its end shows whether it was the last.
  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    for (const NamedNumber& s : scalars_)
      if (!s.evaluated) args.fetch(s.scalar.output);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    for (NamedNumber& s : scalars_)
      if (!s.evaluated) s.number = number_of(s.scalar, values[s.scalar.output]);
    numbers_step_ = step_.predicted(values);
    if (!timer_.should_trigger_for_step(numbers_step_, host())) return;
    belay::Session session = run.session();
    numbers_step_ = step_.read(session);
    timer_.update_last_triggered_step(numbers_step_, host().monotonic());
    read_evaluations(session);
    write();
  }

  bool after_save(belay::Session&, const belay::Saved& saved) override {
    saved_ = Checkpoint{saved.step, host().wall_seconds()};
    // The last checkpoint is on the disk after the end.
    if (state_ == State::kFinished) write();
    return false;
  }

  void end(belay::Session& session) override {
    numbers_step_ = step_.read(session);
    read_evaluations(session);
    state_ = State::kFinished;
    write();
  }
  void on_error(const belay::Error&) override {
    state_ = State::kFailed;
    write();
  }

  void save_state(belay::StateWriter& state) const override {
    state.put("step", numbers_step_);
    for (const NamedNumber& s : scalars_)
      if (s.number && !s.evaluated) state.put("number/" + s.scalar.name, *s.number);
  }
  void load_state(const belay::StateReader& state) override {
    numbers_step_ = state.integer("step", -1);
    for (NamedNumber& s : scalars_) {
      const std::string key = "number/" + s.scalar.name;
      s.number.reset();
      if (!s.evaluated && state.has(key)) s.number = state.number(key);
    }
  }

 private:
  enum class State { kRunning, kFinished, kFailed };
  struct NamedNumber {
    NamedScalar scalar;
    belay::Output evaluated;       // the step of the metric's evaluation; empty: a training number
    std::optional<double> number;  // none: there was no run, or no evaluation
  };
  struct Checkpoint {
    std::int64_t step;
    double wall_seconds;
  };

  std::string path_of(const Options& o) const {
    std::string file = o.output_file.string();
    if (!file.empty() && file[0] == '/') return file;
    const std::string directory = host().run_directory();
    if (file.empty() || file.find('/') != std::string::npos || directory.empty())
      belay::fail(belay::Code::kInvalidArgument,
                  "'output_file' is an absolute path, or the name of a file in the run directory ([run] dir)");
    belay::check_file_name("output_file", file);
    return directory + "/" + file;
  }

  static std::vector<NamedScalar> all_scalars(const belay::Graph& graph) {
    std::vector<NamedScalar> all = training_scalars(graph);
    for (NamedScalar& s : evaluation_scalars(graph)) all.push_back(std::move(s));
    return all;
  }

  // Prometheus' format does not allow two lines of one name.
  void check_names() const {
    std::map<std::string, std::string> owners;
    for (const char* name : kOwnNames) owners[name] = "the file's own";
    for (const NamedNumber& s : scalars_) {
      const std::string name = metric_name(s.scalar.name), own = "'" + s.scalar.name + "'";
      const auto [owner, is_new] = owners.emplace(name, own);
      if (is_new) continue;
      belay::fail(belay::Code::kInvalidArgument,
                  "prometheus would call both " + owner->second + " and " + own + " " + name +
                      ": leave one of them out of 'tensors', or give a metric another name");
    }
  }

  static double number_of(const NamedScalar& scalar, const belay::TensorView& value) {
    if (value.size() != 1)
      belay::fail(belay::Code::kInvalidArgument, "prometheus shows scalar numbers, " + scalar.output.text() +
                                                     " had the shape " + belay::dims_text(value.dims()));
    return value.number(0);
  }

  void forget_numbers() {
    for (NamedNumber& s : scalars_) s.number.reset();
  }

  // Evaluations run between two steps and leave their metrics in variables. A raw run reads these.
  void read_evaluations(const belay::Session& session) {
    std::vector<belay::FetchRef> fetches;
    for (const NamedNumber& s : scalars_) {
      if (!s.evaluated) continue;
      fetches.emplace_back(s.evaluated);
      fetches.emplace_back(s.scalar.output);
    }
    if (fetches.empty()) return;
    const belay::RunResult values = session.run(fetches);
    std::size_t i = 0;
    for (NamedNumber& s : scalars_) {
      if (!s.evaluated) continue;
      s.number.reset();
      if (values[i].number(0) >= 0) s.number = number_of(s.scalar, values[i + 1]);
      i += 2;
    }
  }

  void write() {
    const std::int64_t step = numbers_step_;
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
    add("belay_finished", "1: the training has ended without an error.", state_ == State::kFinished ? 1 : 0);
    add("belay_failed", "1: the training has ended with an error.", state_ == State::kFailed ? 1 : 0);
    if (saved_) {
      add("belay_last_checkpoint_step", "The step of the last checkpoint of this start.",
          static_cast<double>(saved_->step));
      add("belay_last_checkpoint_seconds", "When it was written, in seconds since 1970.", saved_->wall_seconds);
    }
    if (seconds > 0 && step > last_step_)
      add("belay_steps_per_second", "Training steps per second since the last update.",
          static_cast<double>(step - last_step_) / seconds);
    for (const NamedNumber& s : scalars_)
      if (s.number)
        add(metric_name(s.scalar.name),
            "The scalar " + label_text(s.scalar.name) +
                (s.evaluated ? " of the last evaluation." : " of the step belay_global_step."),
            *s.number);
    last_step_ = step;
    last_time_ = now;
    belay::replace_or_warn(host(), path_, text, warned_);
  }

  static constexpr const char* kOwnNames[] = {"belay_global_step",
                                              "belay_attempt",
                                              "belay_last_update_seconds",
                                              "belay_finished",
                                              "belay_failed",
                                              "belay_last_checkpoint_step",
                                              "belay_last_checkpoint_seconds",
                                              "belay_steps_per_second"};

  std::vector<std::string> names_;
  const std::string path_;
  std::vector<NamedNumber> scalars_;
  std::int64_t numbers_step_ = -1;  // the step of the training numbers
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  State state_ = State::kRunning;
  std::optional<Checkpoint> saved_;
  bool warned_ = false;
  std::int64_t last_step_ = 0;
  std::chrono::nanoseconds last_time_{};
};

}  // namespace

BELAY_MODULE("1.0.0", Prometheus)
