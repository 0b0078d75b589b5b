// SPDX-License-Identifier: Apache-2.0
// Writes the model as one file, model.onnx (opset 17), for ONNX Runtime and others.
//
//   [[exporters]]
//   plugin = "onnx"
//
// Inputs and outputs have the names of the signature. A dimension that the caller chooses is called "batch". Variables
// are initializers.
#include <belay/plugin.h>

#include <cstdint>
#include <set>
#include <string>

#include "graph_writer.h"
#include "translate.h"

namespace {

namespace onnx = belay::onnx;
using belay::Code;
using belay::fail;

constexpr const char* kFile = "model.onnx";
constexpr std::size_t kMostBytes = (std::size_t{1} << 31) - 1;  // limit of one protobuf message

class Onnx final : public belay::Exporter {
 public:
  static constexpr auto about = belay::about("onnx", "Writes the model as model.onnx, opset 17, for ONNX Runtime");

  void write(const belay::ExportContext& model, belay::Directory& directory) override {
    onnx::Model file;
    fill_head(model, file);
    belay_onnx::GraphWriter writer(model, *file.mutable_graph());
    add_inputs(model, writer, *file.mutable_graph());
    for (const belay::ExportNode& node : model.nodes()) translate(writer, node);
    add_outputs(model, writer, *file.mutable_graph());
    leave_out_unused(*file.mutable_graph());
    if (file.ByteSizeLong() > kMostBytes)
      fail(Code::kUnimplemented, "the model has " + std::to_string(file.ByteSizeLong()) +
                                     " bytes; a file of ONNX with the weights in it ends at 2 GiB");
    const std::string bytes = file.SerializeAsString();
    belay::File out = directory.create(kFile);
    out.write(bytes.data(), bytes.size());
    out.close();
  }

  // Checks that a reader can run the graph: each value exists before its use, and inputs and outputs match the
  // signature.
  void check(const belay::ExportContext& model, const belay::Directory& directory) override {
    const belay::File in = directory.open(kFile);
    std::string bytes(in.size(), '\0');
    in.read_at(0, bytes.data(), bytes.size());
    onnx::Model file;
    if (!file.ParseFromString(bytes))
      fail(Code::kDataLoss, std::string(kFile) + " is no ONNX model: it cannot be parsed");
    std::set<std::string> known = {""};
    for (const onnx::ValueInfo& v : file.graph().input()) known.insert(v.name());
    for (const onnx::Tensor& t : file.graph().initializer()) known.insert(t.name());
    for (const onnx::Node& node : file.graph().node()) {
      for (const std::string& name : node.input()) require(known, name, node.name());
      for (const std::string& name : node.output())
        if (!known.insert(name).second) fail(Code::kDataLoss, std::string(kFile) + " has two values " + name);
    }
    for (const onnx::ValueInfo& v : file.graph().output()) require(known, v.name(), "the outputs");
    const auto same = [&](int n, const std::vector<belay::NamedOutput>& wanted, auto name_of) {
      if (static_cast<std::size_t>(n) != wanted.size())
        fail(Code::kDataLoss, std::string(kFile) + " lost inputs or outputs");
      for (int i = 0; i < n; ++i)
        if (name_of(i) != wanted[static_cast<std::size_t>(i)].name)
          fail(Code::kDataLoss, std::string(kFile) + " has " + name_of(i) + " in the place of " +
                                    wanted[static_cast<std::size_t>(i)].name);
    };
    same(file.graph().input_size(), model.inputs(), [&](int i) { return file.graph().input(i).name(); });
    same(file.graph().output_size(), model.outputs(), [&](int i) { return file.graph().output(i).name(); });
  }

 private:
  static void require(const std::set<std::string>& known, const std::string& name, const std::string& user) {
    if (known.count(name) == 0)
      fail(Code::kDataLoss, std::string(kFile) + ": " + user + " use " + name + ", which nothing computes before");
  }

  static void fill_head(const belay::ExportContext& model, onnx::Model& file) {
    file.set_ir_version(belay_onnx::kIrVersion);
    file.set_producer_name("belay");
    onnx::OperatorSet& opset = *file.add_opset_import();
    opset.set_domain("");
    opset.set_version(belay_onnx::kOpset);
    file.mutable_graph()->set_name(std::string(model.model()));
    const auto note = [&](const char* key, const std::string& value) {
      onnx::Property& p = *file.add_metadata_props();
      p.set_key(key);
      p.set_value(value);
    };
    note("belay.global_step", std::to_string(model.global_step()));
    note("belay.signature", std::string(model.signature()));
    if (!model.schema().empty()) note("belay.schema", std::string(model.schema()));
  }

  // Removes weights that a translation replaced by a copy in another order.
  static void leave_out_unused(onnx::Graph& graph) {
    std::set<std::string> used;
    for (const onnx::Node& node : graph.node()) used.insert(node.input().begin(), node.input().end());
    auto& all = *graph.mutable_initializer();
    int kept = 0;
    for (int i = 0; i < all.size(); ++i)
      if (used.count(all.Get(i).name()) != 0) all.SwapElements(i, kept++);
    all.DeleteSubrange(kept, all.size() - kept);
  }

  static void describe(const belay::NamedOutput& of, onnx::ValueInfo& to) {
    to.set_name(of.name);
    onnx::TensorType& type = *to.mutable_type()->mutable_tensor_type();
    type.set_elem_type(belay_onnx::onnx_type(of.output.dtype()));
    if (of.output.rank() < 0) return;
    onnx::Shape& shape = *type.mutable_shape();
    const belay::Dims dims = of.output.dims();
    for (std::size_t i = 0; i < dims.size(); ++i) {
      onnx::Dimension& d = *shape.add_dim();
      if (dims[i] >= 0)
        d.set_dim_value(dims[i]);
      else
        d.set_dim_param(i == 0 ? "batch" : of.name + "_" + std::to_string(i));
    }
  }

  static void add_inputs(const belay::ExportContext& model, belay_onnx::GraphWriter& writer, onnx::Graph& graph) {
    for (const belay::NamedOutput& in : model.inputs()) {
      describe(in, *graph.add_input());
      writer.set(in.output, in.name);
    }
  }
  // Each output is a separate value with the signature's name.
  static void add_outputs(const belay::ExportContext& model, belay_onnx::GraphWriter& writer, onnx::Graph& graph) {
    for (const belay::NamedOutput& out : model.outputs()) {
      for (const belay::NamedOutput& in : model.inputs())
        if (in.name == out.name)
          fail(Code::kUnimplemented, "an input and an output of the signature are both called '" + out.name +
                                         "'; values of ONNX have one name each");
      describe(out, *graph.add_output());
      writer.add("Identity", {writer.value(out.output)}, out.name);
    }
  }
};

}  // namespace

BELAY_MODULE("1.0.0", Onnx)
