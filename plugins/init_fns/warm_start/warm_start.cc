// SPDX-License-Identifier: Apache-2.0
#include <belay/nearest.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <regex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

using belay::Checkpoint;
using belay::Code;
using belay::VariableInfo;

std::string joined(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 20;
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMost; ++i) text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kMost) text += ", and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

std::string type_text(belay::DType dtype, const belay::Dims& dims) {
  if (dtype == belay::DType::kInvalid) return "of a type that belay does not have, " + belay::dims_text(dims);
  return std::string(belay::dtype_name(dtype)) + " " + belay::dims_text(dims);
}

// A regular expression that must match from a name's start.
struct Pattern {
  explicit Pattern(std::string_view given) : text(given) {
    // std::regex takes stack for each character.
    constexpr std::size_t kLongest = 1000;
    if (text.size() > kLongest)
      belay::fail(Code::kInvalidArgument, "'vars' has a regular expression of " + std::to_string(text.size()) +
                                              " characters; at most " + std::to_string(kLongest) + " are allowed");
    try {
      regex.assign(text);
    } catch (const std::regex_error& e) {
      belay::fail(Code::kInvalidArgument, "'vars' has \"" + text + "\", which is no regular expression: " + e.what());
    }
  }
  bool matches(const std::string& name) const {
    return std::regex_search(name, regex, std::regex_constants::match_continuous);
  }
  std::string text;
  std::regex regex;
  bool used = false;
};

// Another name of a variable inside the checkpoint.
struct Rename {
  std::string variable;
  std::string source;
  bool used = false;
};

class WarmStart final : public belay::InitFn {
 public:
  struct Options {
    belay::Path from;
    belay::List<belay::Str> vars;
    belay::Table names;
  };
  static constexpr auto about = belay::about(
      "warm_start", "Takes the initial values of chosen variables from a checkpoint",
      belay::option("from", &Options::from, "a checkpoint, or a run directory for its newest")
          .required()
          .example("runs/first"),
      belay::option(
          "vars", &Options::vars,
          "regular expressions for names of variables, matched from the name's start; without them all trainable "
          "variables"),
      belay::option("names", &Options::names, "variable = \"name in the checkpoint\", where they differ"),
      belay::option<belay::Str>("names.*", "the variable's name in the checkpoint"));

  explicit WarmStart(const Options& o) : from_(o.from) {
    for (const belay::Str& text : o.vars) patterns_.emplace_back(text);
    for (std::size_t i = 0; i < o.names.size(); ++i) {
      const std::string variable(o.names.key(i));
      if (o.names.value(i).type != BELAY_VALUE_TEXT)
        belay::fail(Code::kInvalidArgument, "'names." + variable + "' must be a string: a name in the checkpoint");
      renames_.push_back({variable, std::string(o.names.text(i)), false});
    }
  }

  void run(belay::Graph&, belay::Session& session) override {
    const Checkpoint checkpoint(host(), from_);
    const std::vector<VariableInfo> variables = session.variables();
    Report report;
    for (const VariableInfo& v : variables)
      if (chosen(v)) load(v, checkpoint, session, report);
    log(report, checkpoint);
    // After everything else was done, so that the log shows all of it.
    add_unused(variables, report);
    if (report.errors.empty() && report.loaded.empty())
      report.errors.push_back(report.missing.empty()
                                  ? "the graph has no trainable variable"
                                  : "no variable was found in it; it has: " + joined(names_of(checkpoint)));
    if (report.errors.empty()) return;
    std::string text = "warm start from '" + from_ + "': ";
    for (std::size_t i = 0; i < report.errors.size(); ++i) text += (i == 0 ? "" : "; ") + report.errors[i];
    belay::fail(Code::kInvalidArgument, text);
  }

 private:
  struct Report {
    std::vector<std::string> loaded;
    std::vector<std::string> missing;  // chosen by a pattern, not in the checkpoint
    std::vector<std::string> sources;  // tensors of the checkpoint that were read
    std::vector<std::string> errors;
  };

  bool chosen(const VariableInfo& v) {
    if (patterns_.empty()) return v.trainable;
    bool any = false;
    for (Pattern& p : patterns_)
      if (p.matches(v.name)) any = p.used = true;
    return any;
  }

  void load(const VariableInfo& v, const Checkpoint& checkpoint, const belay::Session& session, Report& report) {
    const auto rename =
        std::find_if(renames_.begin(), renames_.end(), [&](const Rename& r) { return r.variable == v.name; });
    const bool renamed = rename != renames_.end();
    if (renamed) rename->used = true;
    const std::string& source = renamed ? rename->source : v.name;
    const Checkpoint::Entry* entry = checkpoint.find(source);
    if (entry == nullptr) {
      if (!renamed) return report.missing.push_back(v.name);
      report.errors.push_back("'names' maps '" + v.name + "' to the tensor '" + source +
                              "', which the checkpoint has not" + belay::did_you_mean(source, names_of(checkpoint)));
      return;
    }
    if (entry->dtype != v.dtype || entry->dims != v.dims) {
      report.errors.push_back("variable '" + v.name + "' is " + type_text(v.dtype, v.dims) + ", tensor '" + source +
                              "' of the checkpoint is " + type_text(entry->dtype, entry->dims));
      return;
    }
    session.assign(v.name, checkpoint.read(source));
    report.loaded.push_back(renamed ? v.name + " (from " + source + ")" : v.name);
    report.sources.push_back(source);
  }

  void log(const Report& report, const Checkpoint& checkpoint) const {
    if (!report.loaded.empty())
      host().info("warm start from '" + from_ + "': " + std::to_string(report.loaded.size()) +
                  (report.loaded.size() == 1 ? " variable: " : " variables: ") + joined(report.loaded));
    if (!report.missing.empty())
      host().warning("not in '" + from_ + "', so they keep their initial values: " + joined(report.missing));
    std::vector<std::string> unread;
    for (const std::string& name : names_of(checkpoint))
      if (std::find(report.sources.begin(), report.sources.end(), name) == report.sources.end()) unread.push_back(name);
    if (!unread.empty()) host().info("not taken from '" + from_ + "': " + joined(unread));
  }

  void add_unused(const std::vector<VariableInfo>& variables, Report& report) const {
    std::vector<std::string> all, chosen_ones;
    for (const VariableInfo& v : variables) {
      all.push_back(v.name);
      const auto match = [&](const Pattern& p) { return p.matches(v.name); };
      if (patterns_.empty() ? v.trainable : std::any_of(patterns_.begin(), patterns_.end(), match))
        chosen_ones.push_back(v.name);
    }
    for (const Pattern& p : patterns_)
      if (!p.used)
        report.errors.push_back("\"" + p.text + "\" in 'vars' matches no variable; there are: " + joined(all));
    for (const Rename& r : renames_)
      if (!r.used)
        report.errors.push_back("'names' has '" + r.variable + "', which is no chosen variable" +
                                belay::did_you_mean(r.variable, chosen_ones) + "; these are: " + joined(chosen_ones));
  }

  static std::vector<std::string> names_of(const Checkpoint& checkpoint) {
    std::vector<std::string> names;
    for (const Checkpoint::Entry& e : checkpoint.entries()) names.push_back(e.name);
    return names;
  }

  const std::string from_;
  std::vector<Pattern> patterns_;
  std::vector<Rename> renames_;
};

}  // namespace

BELAY_MODULE("1.0.0", WarmStart)
