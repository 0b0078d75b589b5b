// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/model/model_service.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/loader/options/option_values.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {
namespace {

using detail::guard;
using detail::view;

// ---- roles

// Files of predictions, events and metrics have it as a key, and terminals show it.
void check_written_name(const std::string& what, const std::string& name) {
  if (name.empty()) fail(Code::kInvalidArgument, "[B5084] a " + what + " of the model has no name; give it one");
  for (std::string_view rest = name; !rest.empty();) {
    const Utf8Char c = first_char(rest);
    if (!c.valid || is_control(c.value))
      fail(Code::kInvalidArgument,
           "[B5084] the " + what + " " + single_quoted(name) + " of the model cannot be written: " +
               (c.valid ? "a character of its name is a control character" : "its name is not UTF-8") +
               "; choose another name");
    rest.remove_prefix(c.size);
  }
}

void add_prediction(std::vector<NamedOutput>& to, const std::string& name, const Output& o) {
  check_written_name("prediction", name);
  for (const NamedOutput& other : to)
    if (other.name == name) fail(Code::kInvalidArgument, "[B5084] the model has the prediction '" + name + "' twice");
  to.push_back({name, o});
}

bool is_square(const Output& o) {
  return o.dtype() == DType::kFloat64 && o.rank() == 2 && o.dim(0) >= 0 && o.dim(0) == o.dim(1);
}

void add_metric(std::vector<ModelOutputs::Metric>& to, const std::string& name, const Output& o, const Output& update) {
  check_written_name("metric", name);
  if (o.is_operation() || !(o.rank() == 0 || (update && is_square(o))))
    fail(Code::kInvalidArgument,
         "[B5084] the metric '" + name + "' " + o.text() + " must be a scalar" + (update ? ", or float64 [n, n]" : ""));
  for (const ModelOutputs::Metric& m : to)
    if (m.name == name) fail(Code::kInvalidArgument, "[B5084] the model has the metric '" + name + "' twice");
  to.push_back({name, o, update});
}

// Puts a piece of the scaffold into the collection that Scaffold reads. The local init operation joins the collection
// that it runs.
void set_piece(ModelSpec& spec, const char* piece, const char* collection, const Output& o) {
  std::vector<std::string>& pieces = spec.outputs.pieces;
  if (std::find(pieces.begin(), pieces.end(), piece) != pieces.end())
    fail(Code::kInvalidArgument, std::string("[B5084] the model has the piece ") + piece + " twice");
  pieces.emplace_back(piece);
  spec.graph.handle().collect(collection, o);
}

void set_strings(ModelSpec& spec, const char* piece, const Output& o) {
  if (o.is_operation() || o.dtype() != DType::kString)
    fail(Code::kInvalidArgument, std::string("[B5084] the ") + piece + " " + o.text() + " must be a string tensor");
  set_piece(spec, piece, piece, o);
}

void set_role(ModelSpec& spec, std::int32_t role, const std::string& name, const Output& o, const Output& update) {
  ModelOutputs& out = spec.outputs;
  switch (role) {
    case BELAY_ROLE_LOSS:
      if (out.loss) fail(Code::kInvalidArgument, "[B5084] the model has two losses");
      if (o.is_operation() || o.rank() != 0)
        fail(Code::kInvalidArgument, "[B5084] the loss " + o.text() + " must be a scalar");
      out.loss = o;
      break;
    case BELAY_ROLE_PREDICTION: add_prediction(out.predictions, name, o); break;
    case BELAY_ROLE_METRIC: add_metric(out.metrics, name, o, update); break;
    case BELAY_ROLE_TRAIN_OP:
      if (out.train_op) fail(Code::kInvalidArgument, "[B5084] the model has two train operations");
      out.train_op = o.operation();
      break;
    case BELAY_ROLE_INIT_OP: set_piece(spec, collections::kInitOp, collections::kInitOp, o.operation()); break;
    case BELAY_ROLE_LOCAL_INIT_OP:
      set_piece(spec, collections::kLocalInitOp, collections::kTableInitializers, o.operation());
      break;
    case BELAY_ROLE_READY_OP: set_strings(spec, collections::kReadyOp, o); break;
    case BELAY_ROLE_READY_FOR_LOCAL_INIT_OP: set_strings(spec, collections::kReadyForLocalInitOp, o); break;
    case BELAY_ROLE_SUMMARY_OP: set_strings(spec, collections::kSummaryOp, o); break;
    default: fail(Code::kInvalidArgument, fmt::format("[B5084] a model has no role {}", role));
  }
}

std::int32_t set(belay_model_spec* handle, std::int32_t role, belay_str name, belay_output output, belay_output update,
                 belay_status* status) {
  return guard(status, [&] {
    ModelSpec& spec = from_handle(handle);
    const auto of_graph = [&](const belay_output& o) { return spec.graph.output(spec.graph.resolve(o)); };
    set_role(spec, role, std::string(view(name)), of_graph(output), update.graph == 0 ? Output() : of_graph(update));
  });
}

// ---- signatures

std::vector<NamedOutput> named(const belay_named_output* outputs, std::uint64_t n, NodeGraph& graph,
                               const std::string& what) {
  std::vector<NamedOutput> all;
  for (std::uint64_t i = 0; i < n; ++i) {
    detail::check_text(fmt::format("{} {}", what, i), outputs[i].name);
    const std::string name(view(outputs[i].name));
    try {
      all.push_back({name, graph.output(graph.resolve(outputs[i].output))});
    } catch (const Error& e) {
      fail(e.code(), what + " " + single_quoted(name) + ": " + e.what());
    }
  }
  return all;
}

void check_named(const std::vector<NamedOutput>& all, std::uint64_t graph, const std::string& what) {
  if (all.empty()) fail(Code::kInvalidArgument, fmt::format("[B5084] {} is missing: it needs at least one", what));
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string which = what + " " + single_quoted(all[i].name);
    if (!all[i].output || all[i].output.raw().graph != graph)
      fail(Code::kInvalidArgument, fmt::format("[B5084] {} is no output of this graph", which));
    if (all[i].output.is_operation())
      fail(Code::kInvalidArgument, fmt::format("[B5084] {} is an operation without a value", which));
    if (all[i].name.empty()) fail(Code::kInvalidArgument, fmt::format("[B5084] {} has no name", which));
    for (std::size_t j = 0; j < i; ++j)
      if (all[j].name == all[i].name) fail(Code::kInvalidArgument, fmt::format("[B5084] {} is there twice", which));
  }
}

std::string of_signature(const std::string& name, const char* what) {
  return "the signature " + single_quoted(name) + ": its " + what;
}

std::int32_t export_signature(belay_model_spec* handle, const belay_signature* signature, belay_status* status) {
  return guard(status, [&] {
    ModelSpec& spec = from_handle(handle);
    belay_signature room;
    const belay_signature& s = detail::read_sized(signature, room);
    detail::check_text("the name of a signature", s.name);
    detail::check_text("the method of a signature", s.method);
    detail::check_list("inputs", s.inputs, s.n_inputs);
    detail::check_list("outputs", s.outputs, s.n_outputs);
    const std::string name(view(s.name));
    add_signature(
        spec.outputs.signatures, spec.graph.serial(),
        {name, std::string(view(s.method)), named(s.inputs, s.n_inputs, spec.graph, of_signature(name, "input")),
         named(s.outputs, s.n_outputs, spec.graph, of_signature(name, "output"))});
  });
}

// ---- hooks

std::int32_t add_hook(belay_model_spec* handle, const belay_model_hook* hook, belay_status* status) {
  return guard(status, [&] {
    std::vector<ModelOutputs::Hook>& hooks = from_handle(handle).outputs.hooks;
    belay_model_hook room;
    const belay_model_hook& h = detail::read_sized(hook, room, BELAY_MODEL_HOOK_CHIEF_ONLY);
    detail::check_text("the plugin of a hook", h.plugin);
    detail::check_text("the name of a hook", h.name);
    detail::check_list("options", h.options, h.n_options);
    ModelOutputs::Hook made;
    made.chief_only = (h.flags & BELAY_MODEL_HOOK_CHIEF_ONLY) != 0;
    made.use = plugin_use(std::string(view(h.plugin)), {}, "a hook of the model");
    if (made.use.plugin.empty()) fail(Code::kInvalidArgument, "[B5084] a hook of the model has no plugin's name");
    made.use.name = h.name.size == 0 ? made.use.plugin : std::string(view(h.name));
    for (const ModelOutputs::Hook& other : hooks)
      if (other.use.name == made.use.name)
        fail(Code::kInvalidArgument, "[B5047] the model brings two hooks with the name " +
                                         single_quoted(made.use.name) + "; give one of them another name");
    for (std::uint64_t i = 0; i < h.n_options; ++i) {
      detail::check_text("the name of an option of a hook", h.options[i].name);
      const std::string key(view(h.options[i].name));
      try {
        detail::check_value("its value", h.options[i].value);
        made.use.options.push_back({key, option_value(h.options[i].value), made.use.at, made.use.at});
      } catch (const Error& e) {
        fail(e.code(), "the hook " + single_quoted(made.use.name) + ": option " + single_quoted(key) + ": " + e.what());
      }
    }
    hooks.push_back(std::move(made));
  });
}

constexpr belay_model_service kModelService{sizeof(belay_model_service), 0, checked<set, detail::name_of_model_set>,
                                            checked<export_signature, detail::name_of_model_export_signature>,
                                            checked<add_hook, detail::name_of_model_add_hook>};

}  // namespace

void add_signature(std::vector<Signature>& to, std::uint64_t graph, Signature signature) {
  static const std::vector<std::string> kMethods = {"predict", "classify", "regress"};
  if (signature.name.empty()) fail(Code::kInvalidArgument, "[B5084] a signature of the model has no name");
  for (const Signature& other : to)
    if (other.name == signature.name)
      fail(Code::kInvalidArgument, "[B5084] the model has the signature " + single_quoted(signature.name) + " twice");
  if (std::find(kMethods.begin(), kMethods.end(), signature.method) == kMethods.end())
    fail(Code::kInvalidArgument,
         fmt::format("[B5084] {} is {}; the methods are: {}", of_signature(signature.name, "method"),
                     single_quoted(signature.method), joined(kMethods)));
  check_named(signature.inputs, graph, of_signature(signature.name, "input"));
  check_named(signature.outputs, graph, of_signature(signature.name, "output"));
  to.push_back(std::move(signature));
}

const belay_model_service* model_service() noexcept { return &kModelService; }

}  // namespace belay::runtime
