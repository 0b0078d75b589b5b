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
      "csv_logger", "Writes scalars into a CSV file in the run directory, a line every so many steps",
      belay::option("tensors", &Options::tensors, "the scalars, a column each behind the column global_step")
          .required()
          .watching()
          .example("loss"),
      belay::option("output_file", &Options::output_file, "the file's name in the run directory").watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "write every so many steps").min(1).watching());

  explicit CsvLogger(const Options& o) : timer_({}, o.every_n_steps), header_(header(o)), file_("csv_logger", path(o)) {
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
    if (timer_.last_triggered_step() && *timer_.last_triggered_step() > step_.read(session)) timer_.reset();
    open(restored_bytes_);
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
    file_.write(line + "\n");
    file_.flush();  // so that one can watch it
  }

  void before_save(belay::Session&, std::int64_t) override { file_.sync(); }
  void end(belay::Session&) override { file_.sync(); }

  void save_state(belay::StateWriter& state) const override {
    state.put("bytes", file_.is_open() ? file_.bytes() : restored_bytes_);
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    restored_bytes_ = state.integer("bytes");
    timer_.load(state, host().monotonic());
  }

 private:
  void open(std::int64_t bytes) {
    file_.open(bytes);
    if (bytes == 0) return file_.write(header_);
    if (!file_.begins_with(header_))
      file_.refuse("has other columns than '" + header_.substr(0, header_.size() - 1) +
                   "'; give this run's 'tensors' or another 'output_file'");
    file_.cut();
  }
  std::string path(const Options& o) const {
    if (o.tensors.begin() == o.tensors.end())
      belay::fail(Code::kInvalidArgument, "'tensors' is empty; name what to write");
    return belay::path_in_run_directory(host(), "csv_logger", "output_file", o.output_file.view());
  }
  static std::string header(const Options& o) {
    std::string text = "global_step";
    for (const belay::Str& name : o.tensors) text += "," + name.string();
    return text + "\n";
  }

  std::vector<std::string> names_;
  std::vector<belay::Output> tensors_;
  belay::SecondOrStepTimer timer_;
  belay::GlobalStep step_;
  const std::string header_;
  belay::GrowingFile file_;
  std::int64_t restored_bytes_ = 0;
};

}  // namespace

BELAY_MODULE("1.0.0", CsvLogger)
