// SPDX-License-Identifier: Apache-2.0
// An Exporter writes a trained model for another program. [[exporters]] names it in a manifest; `belay export` and the
// evaluations of a training call it.
//
//   class NodeList final : public belay::Exporter {
//    public:
//     static constexpr auto about = belay::about("node_list", "Writes the model's nodes, one per line");
//     void write(const ExportContext& model, Directory& directory) override {
//       std::string lines;
//       for (const ExportNode& node : model.nodes()) lines += node.op() + " " + node.name() + "\n";
//       File file = directory.create("nodes.txt");
//       file.write(lines.data(), lines.size());
//       file.close();
//     }
//   };
//
// Before the call the host builds the model in mode predict and restores a checkpoint's variables. It makes an empty
// directory under a temporary name. It calls write, syncs the files, calls check, and renames the directory to its
// version. So readers see a whole export or none. An exporter neither syncs nor names directories, and reads no file of
// the run.
//
// Threads: [session]. An exception removes the directory. For an operation without a translation call
// ExportNode::fail_untranslated: Code::kUnimplemented with the node, its operation and the model.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "belay/graph.h"
#include "belay/model.h"
#include "belay/saver.h"

namespace belay {
inline namespace v0 {

// A handle of a node of the exported graph, valid for the call.
class ExportNode {
 public:
  ExportNode(const Graph& graph, std::uint32_t node, std::string_view model)
      : graph_(graph), node_(node), model_(model) {
    auto info = detail::sized<belay_node_info>();
    detail::Status status;
    status.check(graph_.api()->node_info(graph_.raw(), node_, &info, status));
    op_ = detail::view(info.op), name_ = detail::view(info.name);
    n_inputs_ = info.n_inputs, n_outputs_ = info.n_outputs;
  }

  // "MatMul", as docs/reference/ops.md lists operations.
  const std::string& op() const noexcept { return op_; }
  // "dense/MatMul". A variable's node has the variable's name in `variables` and in checkpoints.
  const std::string& name() const noexcept { return name_; }
  // Number of the node in the graph, and the numbers of its inputs and outputs.
  std::uint32_t number() const noexcept { return node_; }
  std::uint32_t n_inputs() const noexcept { return n_inputs_; }
  std::uint32_t n_outputs() const noexcept { return n_outputs_; }
  // The output that is input `index`, with dtype and dims; -1: a caller chooses the dimension. INVALID_ARGUMENT: the
  // node has no such input.
  Output input(std::uint32_t index) const {
    belay_output in{};
    detail::Status status;
    status.check(graph_.api()->input(graph_.raw(), node_, index, &in, status));
    return graph_.output(in);
  }
  // Output `index` of this node. A use of it checks that it exists.
  Output output(std::uint32_t index = 0) const { return graph_.output({graph_.serial(), node_, index}); }

  // Attributes of the node. `otherwise` is the operation's default (docs/reference/ops.md): the graph keeps only the
  // attributes that the model set. Flags and dtypes are integers. INVALID_ARGUMENT: the attribute is of another type.
  std::int64_t integer(std::string_view attr, std::int64_t otherwise) const {
    const std::optional<belay_value> v = given(attr, BELAY_VALUE_INT);
    return v ? *static_cast<const std::int64_t*>(v->data) : otherwise;
  }
  bool flag(std::string_view attr, bool otherwise) const { return integer(attr, otherwise ? 1 : 0) != 0; }
  // Does the same for a number; a whole number is accepted too.
  double number_of(std::string_view attr, double otherwise) const {
    belay_value v{};
    detail::Status status;
    const std::int32_t code = graph_.api()->attr(graph_.raw(), node_, detail::str(attr), &v, status);
    if (code == BELAY_NOT_FOUND) return otherwise;
    status.check(code);
    if (v.type == BELAY_VALUE_INT) return static_cast<double>(*static_cast<const std::int64_t*>(v.data));
    if (v.type != BELAY_VALUE_FLOAT) refuse_type(attr);
    return *static_cast<const double*>(v.data);
  }
  std::string text(std::string_view attr, std::string_view otherwise) const {
    const std::optional<belay_value> v = given(attr, BELAY_VALUE_TEXT);
    return std::string(v ? detail::view(*static_cast<const belay_str*>(v->data)) : otherwise);
  }
  std::vector<std::int64_t> integers(std::string_view attr, const std::vector<std::int64_t>& otherwise = {}) const {
    const std::optional<belay_value> v = given(attr, BELAY_VALUE_INT | BELAY_VALUE_LIST);
    if (!v) return otherwise;
    const auto* first = static_cast<const std::int64_t*>(v->data);
    return std::vector<std::int64_t>(first, first + v->count);
  }
  // Returns a copy of a tensor, such as "value" of a Const; empty if it was not set.
  std::optional<Tensor> tensor(std::string_view attr) const {
    const std::optional<belay_value> v = given(attr, BELAY_VALUE_TENSOR);
    if (!v) return std::nullopt;
    return Tensor(TensorView(*static_cast<const belay_tensor*>(v->data)));
  }

  // Throws UNIMPLEMENTED: "node 'layer/Foo' of the operation Foo in the model 'mlp' cannot be exported: WHY".
  [[noreturn]] void fail_untranslated(std::string_view why) const {
    fail(Code::kUnimplemented, "node '" + name_ + "' of the operation " + op_ + " in the model '" +
                                   std::string(model_) + "' cannot be exported: " + std::string(why));
  }

 private:
  std::optional<belay_value> given(std::string_view attr, std::int32_t type) const {
    belay_value v{};
    detail::Status status;
    const std::int32_t code = graph_.api()->attr(graph_.raw(), node_, detail::str(attr), &v, status);
    if (code == BELAY_NOT_FOUND) return std::nullopt;
    status.check(code);
    if (v.type != type) refuse_type(attr);
    return v;
  }
  [[noreturn]] void refuse_type(std::string_view attr) const {
    fail(Code::kInvalidArgument,
         "the attribute '" + std::string(attr) + "' of node '" + name_ + "' (" + op_ + ") is of another type");
  }

  Graph graph_;
  std::uint32_t node_;
  std::string_view model_;
  std::string op_, name_;
  std::uint32_t n_inputs_ = 0, n_outputs_ = 0;
};

// A plugin of the run. An exporter may record which plugins the model needs. The views are valid for the call.
struct ExportPlugin {
  std::int32_t kind;  // of BELAY_KIND_...
  std::string_view name, version;
  std::string_view file;  // absolute path; empty: linked into the program
  std::string_view hash;  // identifies the library's code; empty: linked into the program
};

// The arguments of write and check. It is valid for the call.
class ExportContext {
 public:
  // For the SDK: `given` is the result of detail::read_sized.
  ExportContext(const detail::Services* services, const belay_export_args& given)
      : args_(given), graph_(&services->graph, args_.graph), variables_(&services->saver, args_.variables) {}

  // The graph, frozen. Its other nodes (the input's queue, local variables) are not part of the export.
  const Graph& graph() const noexcept { return graph_; }
  // The nodes that the outputs depend on, each after its inputs. Nodes before an input of the signature are left out.
  std::vector<ExportNode> nodes() const {
    std::vector<ExportNode> all;
    all.reserve(args_.n_nodes);
    for (std::uint64_t i = 0; i < args_.n_nodes; ++i) all.emplace_back(graph_, args_.nodes[i], model());
    return all;
  }
  // The tensors that a caller passes and gets, in the order of the signature.
  std::vector<NamedOutput> inputs() const { return named(args_.inputs, args_.n_inputs); }
  std::vector<NamedOutput> outputs() const { return named(args_.outputs, args_.n_outputs); }
  // The signature's name ("serving_default") and method: "predict", "classify" or "regress".
  std::string_view signature() const noexcept { return detail::view(args_.signature); }
  std::string_view method() const noexcept { return detail::view(args_.method); }
  // The variables that the nodes read, sorted by name. Views are valid for the call.
  const TensorSource& variables() const noexcept { return variables_; }
  // The checkpoint's global step.
  std::int64_t global_step() const noexcept { return args_.global_step; }
  // The model plugin's name.
  std::string_view model() const noexcept { return detail::view(args_.model); }
  // The run's effective manifest; empty: a program composed the run.
  std::string_view manifest() const noexcept { return detail::view(args_.manifest); }
  // The training's schema as JSON. The host writes it to schema.json in the exporter's directory. Empty: not known.
  std::string_view schema() const noexcept { return detail::view(args_.schema); }
  // Model, inputs, saver and operations of the run, each with its library's file and hash.
  std::vector<ExportPlugin> plugins() const {
    std::vector<ExportPlugin> all;
    for (std::uint64_t i = 0; i < args_.n_plugins; ++i) {
      belay_export_plugin room;
      const belay_export_plugin& p = detail::read_sized(args_.plugins[i], room);
      all.push_back(
          {p.kind, detail::view(p.name), detail::view(p.version), detail::view(p.file), detail::view(p.hash)});
    }
    return all;
  }

 private:
  std::vector<NamedOutput> named(const belay_named_output* from, std::uint64_t n) const {
    std::vector<NamedOutput> all;
    for (std::uint64_t i = 0; i < n; ++i)
      all.push_back({std::string(detail::view(from[i].name)), graph_.output(from[i].output)});
    return all;
  }

  belay_export_args args_;
  Graph graph_;
  TensorSource variables_;
};

// The base of plugins of the kind "exporter".
class Exporter : public Plugin {
 public:
  // Creates at least one file in the directory and closes each.
  virtual void write(const ExportContext& model, Directory& directory) = 0;
  // Reads the written files back; the directory is now read-only. Throws Code::kDataLoss if they are wrong. The host
  // compares the files' checksums by itself. This is for errors that only the format's reader finds. A few lines that
  // parse the file and compare names and shapes are enough.
  virtual void check(const ExportContext&, const Directory&) {}
};

}  // namespace v0
}  // namespace belay
