// SPDX-License-Identifier: Apache-2.0
#include "runtime/events/graph_def.h"

#include <fmt/core.h>

#include <algorithm>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {
namespace {

void set_shape(const Shape& shape, pb::TensorShapeProto& out) {
  if (!shape.has_rank()) {
    out.set_unknown_rank(true);
    return;
  }
  for (const std::int64_t d : shape.dims()) out.add_dim()->set_size(d);
}

void set_attr(const std::string& name, const AttrValue& value, pb::AttrValue& out) {
  if (const auto* i = std::get_if<std::int64_t>(&value)) {
    if (name == "dtype") {
      out.set_type(static_cast<pb::DataType>(*i));
    } else {
      out.set_i(*i);
    }
  } else if (const auto* d = std::get_if<double>(&value)) {
    out.set_f(static_cast<float>(*d));
  } else if (const auto* s = std::get_if<std::string>(&value)) {
    out.set_s(*s);
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) {
    if (name == "shape") {
      set_shape(Shape(*ints), *out.mutable_shape());
    } else {
      for (const std::int64_t v : *ints) out.mutable_list()->add_i(v);
    }
  } else if (const auto* floats = std::get_if<std::vector<double>>(&value)) {
    for (const double v : *floats) out.mutable_list()->add_f(static_cast<float>(v));
  } else if (const auto* texts = std::get_if<std::vector<std::string>>(&value)) {
    for (const std::string& t : *texts) out.mutable_list()->add_s(t);
  } else {
    const DenseTensor& t = std::get<DenseTensor>(value);
    pb::TensorProto& proto = *out.mutable_tensor();
    proto.set_dtype(static_cast<pb::DataType>(t.dtype()));
    set_shape(Shape(t.dims()), *proto.mutable_tensor_shape());
    constexpr std::int64_t kMostElements = 16;
    if (t.dtype() != DType::kString && t.elements() <= kMostElements) proto.set_tensor_content(t.data(), t.bytes());
  }
}

void add_node(const NodeGraph& graph, const Node& n, pb::GraphDef& def) {
  pb::NodeDef& node = *def.add_node();
  node.set_name(n.name);
  node.set_op(n.op->name);
  for (const Port& in : n.inputs) {
    const std::string& from = graph.node(in.node).name;
    node.add_input(in.index == 0 ? from : fmt::format("{}:{}", from, in.index));
  }
  for (const std::uint32_t c : n.control_inputs) node.add_input("^" + graph.node(c).name);
  for (const auto& [name, value] : n.attrs.all()) set_attr(name, value, (*node.mutable_attr())[name]);
  pb::AttrValue& shapes = (*node.mutable_attr())["_output_shapes"];
  for (const auto& [dtype, shape] : n.outputs) set_shape(shape, *shapes.mutable_list()->add_shape());
}

std::string serialized(const NodeGraph& graph, const std::vector<bool>& wanted) {
  pb::GraphDef def;
  def.mutable_versions()->set_producer(27);  // that of TensorFlow 1.15
  for (std::uint32_t id = 0; id < graph.size(); ++id)
    if (wanted[id]) add_node(graph, graph.node(id), def);
  return def.SerializeAsString();
}

}  // namespace

std::string serialized_graph_def(const NodeGraph& graph) {
  return serialized(graph, std::vector<bool>(graph.size(), true));
}

std::string serialized_graph_def(const NodeGraph& graph, const std::vector<Port>& fetches,
                                 const std::vector<Port>& feeds) {
  std::vector<bool> wanted(graph.size(), false);
  for (const Port& p : fetches) wanted[p.node] = true;
  // Inputs come before their users, so one pass backwards finds them all.
  for (std::uint32_t id = static_cast<std::uint32_t>(graph.size()); id-- > 0;) {
    if (!wanted[id]) continue;
    for (const std::uint32_t c : graph.node(id).control_inputs) wanted[c] = true;
    for (const Port& in : graph.node(id).inputs)
      if (std::find(feeds.begin(), feeds.end(), in) == feeds.end()) wanted[in.node] = true;
  }
  for (const Port& fed : feeds) wanted[fed.node] = true;
  return serialized(graph, wanted);
}

}  // namespace belay::runtime
