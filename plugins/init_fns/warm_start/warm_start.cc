// SPDX-License-Identifier: Apache-2.0
// Takes initial values from a checkpoint: options select variables and tensors, and convert tensors that differ. The
// host itself reads the option `schema`, since it opens the inputs earlier.
#include <belay/nearest.h>
#include <belay/plugin.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "../name_patterns.h"
#include "layout.h"
#include "source_names.h"
#include "source_place.h"
#include "vocabularies.h"

namespace warm_start {
namespace {

using belay::Checkpoint;
using belay::Code;
using belay::DType;
using belay::VariableInfo;
using init_fns::joined;
using init_fns::NamePatterns;

std::string type_text(DType dtype, const belay::Dims& dims) {
  if (dtype == DType::kInvalid) return "of a type that belay does not have, " + belay::dims_text(dims);
  return std::string(belay::dtype_name(dtype)) + " " + belay::dims_text(dims);
}

std::vector<std::string> names_of(const Checkpoint& checkpoint) {
  std::vector<std::string> names;
  for (const Checkpoint::Entry& e : checkpoint.entries()) names.push_back(e.name);
  return names;
}

// The events for the log and for the error at the end.
struct Report {
  std::vector<std::string> loaded;
  std::vector<std::string> missing;  // chosen variables that the checkpoint lacks
  std::set<std::string> sources;     // tensors of the checkpoint that were read
  std::set<std::string> wanted;      // tensors that any variable of the graph would take, chosen or not
  std::vector<std::string> errors;
};

class WarmStart final : public belay::InitFn {
 public:
  struct Options {
    belay::Path from;
    belay::List<belay::Str> vars;
    belay::List<belay::Str> except;
    belay::Table names;
    belay::Table scopes;
    belay::Table transpose;
    belay::Table vocabularies;
    bool convert = false;
    bool strict = false;
    belay::Str schema = "auto";
  };
  static constexpr auto about = belay::about(
      "warm_start", "Takes the initial values of chosen variables from a checkpoint",
      belay::option("from", &Options::from,
                    "path of a checkpoint, or of a run directory, whose newest checkpoint is used")
          .required()
          .example("runs/first"),
      belay::option("vars", &Options::vars,
                    "regular expressions for the names of the variables, matched from the start of a name; if empty, "
                    "all trainable variables"),
      belay::option("except", &Options::except, "regular expressions for the names of variables to leave out"),
      belay::option("names", &Options::names,
                    "table of VARIABLE = \"name in the checkpoint\" for the variables whose names differ"),
      belay::option<belay::Str>("names.*", "name of the variable in the checkpoint"),
      belay::option("scopes", &Options::scopes,
                    "list of tables { from, to }: the variables of the scope 'to' are set from the scope 'from' of the "
                    "checkpoint, and no others"),
      belay::option<belay::Str>("scopes[].from",
                                "scope in the checkpoint, with a '/' at its end; \"/\" means the whole checkpoint")
          .by_default("/"),
      belay::option<belay::Str>("scopes[].to", "scope in the graph, with a '/' at its end; \"/\" means the whole graph")
          .by_default("/"),
      belay::option("transpose", &Options::transpose,
                    "list of tables { vars, axes }: tensors whose dimensions have another order in the checkpoint, "
                    "such as [out, in]"),
      belay::option<belay::List<belay::Str>>("transpose[].vars",
                                             "regular expressions for the names of the variables, as in 'vars'")
          .required()
          .or_single(),
      belay::option<belay::List<std::int64_t>>("transpose[].axes",
                                               "axes as for numpy.transpose: dimension i of the variable is dimension "
                                               "axes[i] of the tensor; [1, 0] if not set")
          .min(0),
      belay::option("vocabularies", &Options::vocabularies,
                    "list of tables { variable, new, old, axis }: variables whose rows belong to tokens, which differ "
                    "in the checkpoint"),
      belay::option<belay::Str>("vocabularies[].variable", "name of the variable").required(),
      belay::option<belay::Path>("vocabularies[].new", "text file with the tokens of the variable's rows, one per line")
          .required(),
      belay::option<belay::Path>("vocabularies[].old",
                                 "text file with the tokens of the checkpoint's tensor, one per line")
          .required(),
      belay::option<std::int64_t>("vocabularies[].axis", "dimension that counts the tokens").range(0, 1).by_default(0),
      belay::option(
          "convert", &Options::convert,
          "true: rounds tensors of another floating-point type to the type of the variable, float32 or float64"),
      belay::option("strict", &Options::strict,
                    "true: a chosen variable that the checkpoint lacks is an error, and so is a tensor that no "
                    "variable of the graph takes"),
      belay::option("schema", &Options::schema,
                    "what this training inherits from that of the checkpoint. all: columns, scales and classes; "
                    "features: columns and scales of features; none: nothing; auto: none with names, scopes, transpose "
                    "or vocabularies, else features with vars or except, else all")
          .choices("auto", "all", "features", "none"));

  explicit WarmStart(const Options& o)
      : from_(o.from),
        vars_("vars", o.vars),
        except_("except", o.except),
        names_(o.names, o.scopes),
        transposes_(o.transpose),
        vocabularies_(o.vocabularies),
        convert_(o.convert),
        strict_(o.strict) {
    need_source(from_);
  }

  void run(belay::Graph& graph, belay::Session& session) override {
    const Checkpoint checkpoint(host(), from_);
    const std::vector<VariableInfo> variables = session.variables();
    Report report;
    std::vector<std::string> chosen;
    for (const VariableInfo& v : variables) {
      const bool is_chosen = chooses(v);
      const std::optional<Source> source = names_.of(v.name, is_chosen);
      if (!source) continue;
      report.wanted.insert(source->tensor);
      if (!is_chosen) continue;
      chosen.push_back(v.name);
      load(v, *source, checkpoint, graph, session, report);
    }
    log(report, checkpoint);
    // Errors come after everything else, so that the log shows all of it.
    add_unused(variables, chosen, report);
    if (strict_) add_strict(checkpoint, report);
    if (report.errors.empty() && report.loaded.empty()) report.errors.push_back(why_nothing(report, checkpoint));
    if (report.errors.empty()) return;
    std::string text = "warm start from '" + from_ + "': ";
    for (std::size_t i = 0; i < report.errors.size(); ++i) text += (i == 0 ? "" : "; ") + report.errors[i];
    belay::fail(Code::kInvalidArgument, text);
  }

 private:
  bool chooses(const VariableInfo& v) {
    const bool taken = vars_.empty() ? v.trainable : vars_.matches(v.name);
    return taken && !except_.matches(v.name);
  }

  void load(const VariableInfo& v, const Source& source, const Checkpoint& checkpoint, const belay::Graph& graph,
            const belay::Session& session, Report& report) {
    if (checkpoint.find(source.tensor) == nullptr) {
      if (source.rule.empty()) return report.missing.push_back(v.name);
      report.errors.push_back(source.rule + " maps '" + v.name + "' to the tensor '" + source.tensor +
                              "', which the checkpoint has not" +
                              belay::did_you_mean(source.tensor, names_of(checkpoint)));
      return;
    }
    try {
      std::vector<std::string> notes;
      if (source.tensor != v.name) notes.push_back("from " + source.tensor);
      session.assign(v.name, value_of(v, source.tensor, checkpoint, graph, session, notes));
      report.loaded.push_back(v.name + (notes.empty() ? "" : " (" + joined(notes) + ")"));
      report.sources.insert(source.tensor);
    } catch (const belay::Error& e) {
      // A tensor that does not fit is reported with all other faults. Damage is reported at once.
      if (e.code() != Code::kInvalidArgument) throw;
      report.errors.push_back(std::string(e.message()));
    }
  }

  // Returns the tensor in the variable's form. `notes` names the conversions.
  belay::Tensor value_of(const VariableInfo& v, const std::string& source, const Checkpoint& checkpoint,
                         const belay::Graph& graph, const belay::Session& session, std::vector<std::string>& notes) {
    const Checkpoint::Entry& entry = *checkpoint.find(source);
    const auto axes = transposes_.axes_for(v.name, entry.dims.size());
    const Vocabularies::Entry* vocabulary = vocabularies_.find(v.name);
    belay::Dims dims = entry.dims;
    for (std::size_t i = 0; axes && i < dims.size(); ++i) dims[i] = entry.dims[static_cast<std::size_t>((*axes)[i])];
    const bool converts = convert_ && entry.dtype != v.dtype && can_convert(entry.dtype, v.dtype);
    if ((entry.dtype != v.dtype && !converts) || (dims != v.dims && vocabulary == nullptr))
      fail_misfit(v, entry, axes.has_value());
    belay::Tensor value = checkpoint.read(source);
    if (axes) {
      value = transposed(value, *axes);
      notes.emplace_back("transposed");
    }
    if (converts) {
      value = as_dtype(value, v.dtype);
      notes.push_back("rounded from " + std::string(belay::dtype_name(entry.dtype)));
    }
    if (vocabulary == nullptr) return value;
    Remapped remapped = remap(*vocabulary, v, value, belay::Tensor(session.run({graph.find(v.name)})[0]));
    notes.push_back(std::to_string(remapped.found) + " of " + std::to_string(remapped.tokens) + " tokens");
    return std::move(remapped.value);
  }

  [[noreturn]] void fail_misfit(const VariableInfo& v, const Checkpoint::Entry& entry, bool is_transposed) const {
    std::string text = "variable '" + v.name + "' is " + type_text(v.dtype, v.dims) + ", tensor '" + entry.name +
                       "' of the checkpoint is " + type_text(entry.dtype, entry.dims);
    if (is_transposed) text += ", which 'transpose' turns round";
    if (entry.dtype != v.dtype && can_convert(entry.dtype, v.dtype)) text += "; convert = true rounds it";
    const bool reversed = entry.dims.size() == 2 && v.dims == belay::Dims{entry.dims[1], entry.dims[0]};
    if (reversed && !is_transposed)
      text +=
          "; if it lies as [out, in], as PyTorch's linear layers do, add transpose = [{ vars = \"" + v.name + "\" }]";
    belay::fail(Code::kInvalidArgument, text);
  }

  void log(const Report& report, const Checkpoint& checkpoint) const {
    if (!report.loaded.empty())
      host().info("warm start from '" + from_ + "': " + std::to_string(report.loaded.size()) +
                  (report.loaded.size() == 1 ? " variable: " : " variables: ") + joined(report.loaded));
    if (!report.missing.empty())
      host().warning("not in '" + from_ + "', so they keep their initial values: " + joined(report.missing));
    std::vector<std::string> unread;
    for (const std::string& name : names_of(checkpoint))
      if (report.sources.count(name) == 0) unread.push_back(name);
    if (!unread.empty()) host().info("not taken from '" + from_ + "': " + joined(unread));
  }

  void add_unused(const std::vector<VariableInfo>& variables, const std::vector<std::string>& chosen, Report& report) {
    std::vector<std::string> all;
    for (const VariableInfo& v : variables) all.push_back(v.name);
    for (const std::string& sentence : vars_.unused())
      report.errors.push_back(sentence + "; there are: " + joined(all));
    for (const std::string& sentence : except_.unused())
      report.errors.push_back(sentence + "; there are: " + joined(all));
    for (std::string& sentence : names_.unused(chosen)) report.errors.push_back(std::move(sentence));
    for (const std::string& sentence : transposes_.unused())
      report.errors.push_back(sentence + " that was found; these were: " + joined(report.loaded));
    for (std::string& sentence : vocabularies_.unused(chosen)) report.errors.push_back(std::move(sentence));
  }

  void add_strict(const Checkpoint& checkpoint, Report& report) const {
    if (!report.missing.empty())
      report.errors.push_back("with strict = true each chosen variable must be in it, and it lacks: " +
                              joined(report.missing));
    std::vector<std::string> unwanted;
    for (const std::string& name : names_of(checkpoint))
      if (names_.covers(name) && report.wanted.count(name) == 0) unwanted.push_back(name);
    if (!unwanted.empty())
      report.errors.push_back("with strict = true each of its tensors must be a variable's, and no variable takes: " +
                              joined(unwanted));
  }

  std::string why_nothing(const Report& report, const Checkpoint& checkpoint) const {
    if (!report.missing.empty()) return "no variable was found in it; it has: " + joined(names_of(checkpoint));
    return except_.empty() ? "the graph has no trainable variable" : "'except' leaves no variable";
  }

  const std::string from_;
  NamePatterns vars_, except_;
  SourceNames names_;
  Transposes transposes_;
  Vocabularies vocabularies_;
  const bool convert_, strict_;
};

}  // namespace
}  // namespace warm_start

BELAY_MODULE("1.0.0", warm_start::WarmStart)
