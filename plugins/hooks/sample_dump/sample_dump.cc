// SPDX-License-Identifier: Apache-2.0
#include <belay/due_steps.h>
#include <belay/growing_file.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "../tensor_json.h"

namespace {

using belay::Code;
using belay::Output;
using json = nlohmann::ordered_json;

class SampleDump final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    belay::List<belay::Str> images;
    std::int64_t rows = 8;
    std::int64_t every_n_steps = 1000;
    belay::Str output_file = "samples.jsonl";
  };
  static constexpr auto about = belay::about(
      "sample_dump", "Writes rows of tensors, such as predictions and their labels, into a file of JSON lines",
      belay::option("tensors", &Options::tensors,
                    "tensors to write, one key of the line each; their first dimension counts the rows")
          .watching()
          .example("loss"),
      belay::option("images", &Options::images,
                    "tensors [rows, height, width, channels] to write into the event file as images")
          .watching(),
      belay::option("rows", &Options::rows, "rows to write, from the start of the batch; 0 means all")
          .min(0)
          .watching(),
      belay::option("every_n_steps", &Options::every_n_steps, "period of the writes, in steps; 1 means each batch")
          .min(1)
          .watching(),
      belay::option("output_file", &Options::output_file, "name of the file in the run directory").watching());

  explicit SampleDump(const Options& o)
      : rows_(o.rows),
        due_(o.every_n_steps),
        file_(host(), belay::path_in_run_directory(host(), "sample_dump", "output_file", o.output_file.view())) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
    for (const belay::Str& name : o.images) image_names_.emplace_back(name);
    for (const std::string& name : names_)
      if (name == "global_step" || name == "row")
        belay::fail(Code::kInvalidArgument, "'" + name + "' is in each line without being asked for");
    if (names_.empty() && image_names_.empty())
      belay::fail(Code::kInvalidArgument, "nothing to write: name 'tensors', 'images' or both");
  }

  void begin(belay::Graph& graph) override {
    due_.begin(graph);
    tensors_.clear();
    images_.clear();
    for (const std::string& name : names_) {
      tensors_.push_back(graph.fetch(graph.find(name)));
      if (tensors_.back().is_operation())
        belay::fail(Code::kInvalidArgument, "sample_dump writes tensors, '" + name + "' is an operation");
    }
    for (const std::string& name : image_names_) images_.push_back(image(graph, graph.find(name)));
  }
  void after_create_session(belay::Session& session) override {
    due_.session_created(session);
    if (!names_.empty()) file_.session_created(session.global_step().value_or(0));
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args{due_.fetch()};
    if (!due_.next(host())) return args;
    for (const Output& tensor : tensors_) args.fetch(tensor);
    for (const auto& image : images_) args.fetch(image);
    return args;
  }
  void after_run(belay::RunContext& run, const belay::RunValues& values) override {
    const auto step = due_.reached(run.session(), values, host());
    if (!step) return;
    for (const auto& image : images_) belay::Events(host()).summary(values[image], *step);
    if (!names_.empty()) write(values, *step);
  }
  void before_save(belay::Session&, std::int64_t) override { file_.sync(); }
  void end(belay::Session&) override { file_.sync(); }

  void save_state(belay::StateWriter& state) const override {
    due_.save(state, host());
    file_.save(state);
  }
  void load_state(const belay::StateReader& state) override {
    due_.load(state, host());
    file_.load(state);
  }

 private:
  // Does not use ops::image_summary, since summary_saver would then write it, too.
  belay::Fetch<std::string_view> image(const belay::Graph& graph, const Output& of) const {
    const std::string name = "sample_dump/" + graph.node_name_of(of);
    Output summary = graph.find_if_exists(name);  // made by an earlier begin
    if (!summary)
      summary = graph.node("ImageSummary", name)
                    .in(of)
                    .attr("tag", "samples/" + graph.node_name_of(of))
                    .attr("max_images", rows_ == 0 ? std::int64_t{1} << 20 : rows_)
                    .output();
    return graph.fetch<std::string_view>(summary);
  }

  // Writes a line for each row that all tensors have. Each line repeats the scalars.
  void write(const belay::RunValues& values, std::int64_t step) {
    std::int64_t rows = -1;
    for (const Output& tensor : tensors_) {
      const belay::TensorView value = values[tensor];
      if (value.rank() > 0) rows = rows < 0 ? value.dim(0) : std::min(rows, value.dim(0));
    }
    if (rows < 0) rows = 1;
    if (rows_ > 0) rows = std::min(rows, rows_);
    for (std::int64_t row = 0; row < rows; ++row) {
      json line{{"global_step", step}, {"row", row}};
      for (std::size_t i = 0; i < tensors_.size(); ++i) {
        const belay::TensorView value = values[tensors_[i]];
        const belay::TensorView part = value.rank() == 0 ? value : value.row(row);
        std::size_t next = 0;
        line[names_[i]] = json_of_tensor(part, 0, next);
      }
      file_.add(step, line.dump(-1, ' ', false, json::error_handler_t::replace));
    }
    file_.flush();
  }

  const std::int64_t rows_;
  belay::DueSteps due_;
  belay::GrowingFile file_;
  std::vector<std::string> names_, image_names_;
  std::vector<Output> tensors_;
  std::vector<belay::Fetch<std::string_view>> images_;
};

}  // namespace

BELAY_MODULE("1.0.0", SampleDump)
