// SPDX-License-Identifier: Apache-2.0
#include <belay/nearest.h>
#include <belay/plugin.h>

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using belay::Code;
using belay::Output;

// A string with places for the values of tensors: "loss is {loss}".
class LineFormat {
 public:
  // INVALID_ARGUMENT: a place names none of `names`. {{ and }} mean braces.
  LineFormat(std::string_view text, const std::vector<std::string>& names) {
    std::string literal;
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool doubled = i + 1 < text.size() && text[i + 1] == text[i];
      if (text[i] == '{' && !doubled) {
        const std::size_t close = text.find('}', i);
        if (close == std::string_view::npos) fail_brace('{', '}', i);
        pieces_.push_back({literal, index_of(text.substr(i + 1, close - i - 1), names)});
        literal.clear();
        i = close;
        continue;
      }
      if (text[i] == '}' && !doubled) fail_brace('}', '{', i);
      if (text[i] == '{' || text[i] == '}') ++i;
      literal += text[i];
    }
    rest_ = literal;
  }

  std::string text(const std::vector<std::string>& values) const {
    std::string out;
    for (const Piece& p : pieces_) out += p.before + values[p.value];
    return out + rest_;
  }

 private:
  struct Piece {
    std::string before;
    std::size_t value;
  };

  [[noreturn]] static void fail_brace(char found, char missing, std::size_t at) {
    belay::fail(Code::kInvalidArgument, std::string("'format' has a '") + found + "' without '" + missing +
                                            "' at character " + std::to_string(at + 1) + "; write " + found + found +
                                            " for a brace");
  }
  static std::size_t index_of(std::string_view name, const std::vector<std::string>& names) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (names[i] == name) return i;
    belay::fail(Code::kInvalidArgument, "'format' names '" + std::string(name) + "', which is not in 'tensors'" +
                                            belay::did_you_mean(name, names));
  }

  std::vector<Piece> pieces_;
  std::string rest_;
};

class LoggingTensor final : public belay::Hook {
 public:
  struct Options {
    belay::List<belay::Str> tensors;
    std::optional<std::int64_t> every_n_iter;
    std::optional<double> every_n_secs;
    bool at_end = false;
    belay::Str format;
  };
  static constexpr auto about = belay::about(
      "logging_tensor", "Prints the values of tensors in each period, or at the end",
      belay::option("tensors", &Options::tensors, "names of the tensors to print, in this order")
          .required()
          .watching()
          .example("loss"),
      belay::option("every_n_iter", &Options::every_n_iter,
                    "period of the prints, in runs of the session, from the first run on")
          .min(1)
          .watching()
          .example(100),
      belay::option("every_n_secs", &Options::every_n_secs, "period of the prints, in seconds, from the first run on")
          .min(0.001)
          .watching(),
      belay::option("at_end", &Options::at_end, "true: prints once more when the run ends; without a period, only then")
          .watching(),
      belay::option(
          "format", &Options::format,
          "text of the line to print, with {NAME} for a tensor's value; if empty, NAME = VALUE for each tensor")
          .watching());

  explicit LoggingTensor(const Options& o) : at_end_(o.at_end) {
    for (const belay::Str& name : o.tensors) names_.emplace_back(name);
    if (names_.empty()) belay::fail(Code::kInvalidArgument, "'tensors' is empty; name what to print");
    if (o.every_n_iter && o.every_n_secs)
      belay::fail(Code::kInvalidArgument, "give exactly one of 'every_n_iter' and 'every_n_secs'; both are given");
    if (!o.every_n_iter && !o.every_n_secs && !at_end_)
      belay::fail(Code::kInvalidArgument, "give exactly one of 'every_n_iter' and 'every_n_secs', or at_end = true");
    if (o.every_n_iter || o.every_n_secs) timer_ = belay::SecondOrStepTimer(o.every_n_secs, o.every_n_iter);
    if (!o.format.empty()) format_.emplace(o.format, names_);
  }

  void begin(belay::Graph& graph) override {
    timer_.reset();
    runs_ = 0;
    outputs_.clear();
    for (const std::string& name : names_) {
      const Output output = graph.find(name);
      if (output.is_operation())
        belay::fail(Code::kInvalidArgument, "'" + name + "' is an operation without a value; name a tensor");
      outputs_.push_back(graph.fetch(output));
    }
  }

  belay::RunArgs before_run(belay::RunContext&) override {
    belay::RunArgs args;
    due_ = timer_.should_trigger_for_step(runs_, host());
    if (due_)
      for (const Output& output : outputs_) args.fetch(output);
    return args;
  }

  void after_run(belay::RunContext&, const belay::RunValues& values) override {
    if (due_) {
      const auto elapsed = timer_.update_last_triggered_step(runs_, host().monotonic());
      print([&](std::size_t i) { return values[outputs_[i]]; }, elapsed);
    }
    ++runs_;
  }

  void end(belay::Session& session) override {
    if (!at_end_) return;
    const belay::RunResult result = session.run({outputs_.begin(), outputs_.end()});
    const auto elapsed = timer_.update_last_triggered_step(runs_, host().monotonic());
    print([&](std::size_t i) { return result[i]; }, elapsed);
  }

  void save_state(belay::StateWriter& state) const override {
    state.put("runs", runs_);
    timer_.save(state, host().monotonic());
  }
  void load_state(const belay::StateReader& state) override {
    runs_ = state.integer("runs", runs_);
    timer_.load(state, host().monotonic());
  }

 private:
  template <class Value>
  void print(const Value& value, const std::optional<belay::SecondOrStepTimer::Elapsed>& elapsed) const {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < outputs_.size(); ++i) texts.push_back(belay::tensor_text(value(i)));
    if (format_) {
      host().info(format_->text(texts));
      return;
    }
    std::string line;
    for (std::size_t i = 0; i < texts.size(); ++i) line += (i == 0 ? "" : ", ") + names_[i] + " = " + texts[i];
    if (elapsed) {
      char seconds[48];
      const auto end = std::to_chars(seconds, seconds + sizeof(seconds), elapsed->seconds, std::chars_format::fixed, 3);
      line += " (" + std::string(seconds, end.ptr) + " sec)";
    }
    host().info(line);
  }

  std::vector<std::string> names_;
  const bool at_end_;
  std::optional<LineFormat> format_;
  std::vector<Output> outputs_;
  belay::SecondOrStepTimer timer_;  // counts runs_
  std::int64_t runs_ = 0;
  bool due_ = false;
};

}  // namespace

BELAY_MODULE("1.0.0", LoggingTensor)
