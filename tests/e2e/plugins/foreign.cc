// SPDX-License-Identifier: Apache-2.0
// An input as others write it, for schema_cells.py: rows of numbers, the last one a class. It names what it delivers,
// or with `quiet` nothing.
#include <belay/example_order.h>
#include <belay/plugin.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace {

class Foreign final : public belay::Input {
 public:
  struct Options : belay::BatchOptions {
    belay::Path path;
    belay::List<belay::Str> columns;
    belay::List<belay::Str> words;
    double scale = 1;
    bool whole = false;
    bool quiet = false;
  };
  static constexpr auto about = belay::about(
      "foreign", "Rows of numbers for tests of the host",
      belay::option("path", &Options::path, "a row a line, numbers between spaces, the class last").required(),
      belay::option("columns", &Options::columns, "names of the numbers"),
      belay::option("words", &Options::words, "names of the classes"),
      belay::option("scale", &Options::scale, "factor of each number").learned(),
      belay::option("whole", &Options::whole, "int64 numbers"),
      belay::option("quiet", &Options::quiet, "names nothing"), belay::batch_options<Options>());

  explicit Foreign(const Options& o) : o_(o) {}

  void spec(belay::InputSpec& spec) override {
    read();
    const belay::Dims dims{-1, static_cast<std::int64_t>(width_)};
    x_ = spec.feature("x", o_.whole ? belay::DType::kInt64 : belay::DType::kFloat32, dims);
    if (!o_.quiet) spec.set_columns(x_, texts(o_.columns));
    if (!o_.quiet) spec.keep("scale", std::vector<double>{o_.scale});
    has_label_ = spec.use() != belay::InputUse::kPrediction;
    if (!has_label_) return;
    y_ = spec.label("y", belay::DType::kInt64, {-1});
    if (!o_.quiet) spec.set_class_names(y_, texts(o_.words));
  }
  void open(const belay::OpenArgs& args) override {
    order_ = belay::ExampleOrder(static_cast<std::int64_t>(classes_.size()), o_, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    const std::vector<std::int64_t>& examples = order_.batch();
    if (examples.empty()) return false;
    const auto n = static_cast<std::int64_t>(examples.size());
    const belay::TensorView x = batch.tensor(x_, {n, static_cast<std::int64_t>(width_)});
    std::int64_t* y = has_label_ ? batch.tensor(y_, {n}).data<std::int64_t>() : nullptr;
    std::size_t at = 0;
    for (const std::int64_t example : examples) {
      const auto row = static_cast<std::size_t>(example);
      for (std::size_t i = 0; i < width_; ++i, ++at) {
        const double value = numbers_[row * width_ + i] * o_.scale;
        if (o_.whole)
          x.data<std::int64_t>()[at] = static_cast<std::int64_t>(value);
        else
          x.data<float>()[at] = static_cast<float>(value);
      }
      if (y != nullptr) *y++ = classes_[row];
    }
    position = order_.advance();
    return true;
  }
  void seek(const belay::Position& position) override { order_.seek(position); }
  std::int64_t size() const override { return order_.size(); }

 private:
  static std::vector<std::string> texts(const belay::List<belay::Str>& list) {
    std::vector<std::string> all;
    for (const belay::Str& text : list) all.push_back(text.string());
    return all;
  }

  void read() {
    std::ifstream file(o_.path.string());
    numbers_.clear();
    classes_.clear();
    std::size_t number = 0;
    for (std::string line; std::getline(file, line);) {
      ++number;
      std::vector<double> row;
      std::istringstream words(line);
      for (double value = 0; words >> value;) row.push_back(value);
      if (row.size() < 2 || (width_ != 0 && !classes_.empty() && row.size() != width_ + 1)) refuse(number, "is no row");
      width_ = row.size() - 1;
      classes_.push_back(static_cast<std::int64_t>(row.back()));
      numbers_.insert(numbers_.end(), row.begin(), row.end() - 1);
      if (!o_.quiet && (row.back() < 0 || static_cast<std::size_t>(row.back()) >= texts(o_.words).size()))
        refuse(number, "has a class without a word");
    }
    if (classes_.empty()) belay::fail(belay::Code::kNotFound, "path: '" + o_.path.string() + "' has no rows");
  }
  [[noreturn]] void refuse(std::size_t line, const std::string& what) const {
    belay::fail(belay::Code::kDataLoss, o_.path.string() + ":" + std::to_string(line) + ": the line " + what);
  }

  Options o_;
  std::vector<double> numbers_;
  std::vector<std::int64_t> classes_;
  std::size_t width_ = 0;
  bool has_label_ = true;
  std::uint32_t x_ = 0, y_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace

BELAY_MODULE("1.0.0", Foreign)
