// SPDX-License-Identifier: Apache-2.0
#include <belay/output_file.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

namespace {

std::int64_t count(const belay::Dims& dims) {
  std::int64_t n = 1;
  for (const std::int64_t d : dims) n *= d;
  return n;
}

// Returns "1,234,567".
std::string grouped(std::int64_t n) {
  std::string text = std::to_string(n);
  for (std::size_t at = text.size(); at > 3;) text.insert(at -= 3, ",");
  return text;
}

// Returns the first `depth` parts of "encoder/layer_1/kernel"; 0: all of them.
std::string scope(const std::string& name, std::int64_t depth) {
  std::size_t at = 0;
  for (std::int64_t part = 0; part < depth && at != name.npos; ++part) at = name.find('/', part == 0 ? 0 : at + 1);
  return depth == 0 || at == name.npos ? name : name.substr(0, at);
}

struct Line {
  std::string name;
  std::string shape;  // of one variable; for several, their number
  std::string dtype;
  std::int64_t parameters = 0;
  std::int64_t variables = 0;
};

class ModelSummary final : public belay::Hook {
 public:
  struct Options {
    std::int64_t depth = 0;
    bool log = true;
    belay::Str output_file = "model_summary.txt";
  };
  static constexpr auto about = belay::about(
      "model_summary", "Lists the model's trainable variables, their shapes and sizes, when the training begins",
      belay::option(
          "depth", &Options::depth,
          "parts of a variable's name that make a line: 1 adds up each layer; 0 means a line for each variable")
          .min(0)
          .watching(),
      belay::option("log", &Options::log, "true: writes the list to the log").watching(),
      belay::option("output_file", &Options::output_file,
                    "name of the file in the run directory; if empty, no file is written")
          .watching());

  explicit ModelSummary(const Options& o) : depth_(o.depth), log_(o.log), output_file_(o.output_file) {
    belay::check_file_name("output_file", output_file_);
  }

  void after_create_session(belay::Session& session) override {
    if (done_) return;  // a recovery has the same model
    done_ = true;
    const std::vector<std::string> text = summary(session.variables());
    if (log_)
      for (const std::string& line : text) host().info(line);
    if (output_file_.empty() || host().run_directory().empty()) return;
    std::string content;
    for (const std::string& line : text) content += line + "\n";
    bool warned = false;
    belay::replace_or_warn(host(), host().run_directory() + "/" + output_file_, content, warned);
  }

 private:
  std::vector<std::string> summary(const std::vector<belay::VariableInfo>& variables) const {
    std::vector<Line> lines;
    std::int64_t parameters = 0, bytes = 0, other_bytes = 0;
    for (const belay::VariableInfo& v : variables) {
      const std::int64_t n = count(v.dims);
      const auto size = n * static_cast<std::int64_t>(belay::dtype_size(v.dtype));
      (v.trainable ? bytes : other_bytes) += size;
      if (!v.trainable) continue;
      parameters += n;
      add(lines, v, n);
    }
    std::vector<std::string> text = table(lines);
    text.push_back(grouped(parameters) + " trainable parameters, " + megabytes(bytes) + "; " + megabytes(other_bytes) +
                   " of other variables (the optimizer's, the step); a checkpoint has " +
                   megabytes(bytes + other_bytes));
    return text;
  }
  void add(std::vector<Line>& lines, const belay::VariableInfo& v, std::int64_t n) const {
    const std::string name = scope(v.name, depth_);
    auto line = std::find_if(lines.begin(), lines.end(), [&](const Line& l) { return l.name == name; });
    if (line == lines.end())
      line = lines.insert(lines.end(), {name, belay::dims_text(v.dims), belay::dtype_name(v.dtype)});
    line->parameters += n;
    if (++line->variables > 1) line->shape = std::to_string(line->variables) + " variables";
    if (line->dtype != belay::dtype_name(v.dtype)) line->dtype = "mixed";
  }
  static std::string megabytes(std::int64_t bytes) {
    return belay::rounded_text(static_cast<double>(bytes) * 1e-6, 3) + " MB";
  }
  // Makes each column as wide as its widest cell. Numbers are at the right.
  static std::vector<std::string> table(const std::vector<Line>& lines) {
    std::size_t name = 0, shape = 0, dtype = 0, parameters = 0;
    for (const Line& l : lines) {
      name = std::max(name, l.name.size()), shape = std::max(shape, l.shape.size());
      dtype = std::max(dtype, l.dtype.size()), parameters = std::max(parameters, grouped(l.parameters).size());
    }
    const auto padded = [](std::string text, std::size_t width) {
      text.resize(std::max(width, text.size()), ' ');
      return text;
    };
    std::vector<std::string> text;
    for (const Line& l : lines) {
      const std::string n = grouped(l.parameters);
      text.push_back(padded(l.name, name) + "  " + padded(l.shape, shape) + "  " + padded(l.dtype, dtype) + "  " +
                     std::string(parameters - n.size(), ' ') + n);
    }
    return text;
  }

  const std::int64_t depth_;
  const bool log_;
  const std::string output_file_;
  bool done_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", ModelSummary)
