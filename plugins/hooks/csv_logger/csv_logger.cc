// SPDX-License-Identifier: Apache-2.0
#include <belay/growing_file.h>
#include <belay/plugin.h>

#include <cstdint>
#include <string>
#include <vector>

namespace {

using belay::Code;

class CsvLogger final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    belay::Str output_file = "metrics.csv";
    std::int64_t every_n_steps = 100;
  };
  static constexpr auto about = belay::about(
      "csv_logger", "Writes scalars into a CSV file in the run directory, one line per period",
      belay::option("tensors", &Options::tensors, "scalars to write, one column each, after the column global_step")
          .required()
          .watching()
          .example("loss"),
      belay::option("output_file", &Options::output_file, "name of the file in the run directory").watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps").min(1).watching());

  explicit CsvLogger(const Options& o) : timer_({}, o.every_n_steps), file_(host(), path(o), header(o)) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
  }

  void begin(belay::Graph& graph) override {
    step_ = belay::GlobalStep(graph);
    tensors_.clear();
    for (const std::string& name : names_) {
      const belay::Output output = graph.find(name);
      if (output.is_operation() || output.rank() > 0 || output.dtype() == belay::DType::kString)
        belay::fail(Code::kInvalidArgument, "csv_logger writes scalar numbers, " + output.text() + " is none");
      tensors_.push_back(graph.fetch(output));
    }
  }

  void after_create_session(belay::Session& session) override {
    step_.forget();
    const std::int64_t step = step_.read(session);
    if (timer_.last_triggered_step().value_or(step) > step) timer_.reset();
    file_.session_created(step);
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{step_.fetch()};
    for (const belay::Output& tensor : tensors_) args.fetch(tensor);
    return args;
  }

  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    if (!timer_.should_trigger_for_step(step_.predicted(values), host())) return;
    const std::int64_t step = step_.read(run.session());
    if (!timer_.should_trigger_for_step(step, host())) return;
    timer_.update_last_triggered_step(step, host().monotonic());
    std::string line = std::to_string(step);
    for (const belay::Output& tensor : tensors_) {
      const belay::TensorView value = values[tensor];
      if (value.size() != 1)
        belay::fail(Code::kInvalidArgument,
                    "csv_logger writes scalars, " + tensor.text() + " had the shape " + belay::dims_text(value.dims()));
      line += "," + belay::exact_text(value.number(0));
    }
    file_.add(step, line);
    file_.flush();  // so that users can watch the file
  }

  void before_save(belay::Session&, std::int64_t) override { file_.sync(); }
  void end(belay::Session&) override { file_.sync(); }

  void save_state(belay::StateWriter& state) const override {
    file_.save(state);
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    file_.load(state);
    timer_.load(state, host().monotonic());
  }

 private:
  std::string path(const Options& o) const {
    if (o.tensors.begin() == o.tensors.end())
      belay::fail(Code::kInvalidArgument, "'tensors' is empty; name what to write");
    return belay::path_in_run_directory(host(), "csv_logger", "output_file", o.output_file.view());
  }
  static std::string header(const Options& o) {
    std::string text = "global_step";
    for (const belay::Str& name : o.tensors) text += "," + name.string();
    return text;
  }

  std::vector<std::string> names_;
  std::vector<belay::Output> tensors_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  belay::GrowingFile file_;
};

}  // namespace

BELAY_MODULE("1.0.0", CsvLogger)
