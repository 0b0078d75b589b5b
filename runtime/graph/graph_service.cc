// SPDX-License-Identifier: Apache-2.0
#include "runtime/graph/graph_service.h"

#include <fmt/core.h>

#include "runtime/graph/gradients.h"
#include "runtime/platform/memory/checked_slot.h"

namespace belay::runtime {
namespace {

using detail::guard;
using detail::view;

AttrValue attr_value(const std::string& name, const belay_value& v) {
  detail::check_value("the attribute '" + name + "'", v);
  const std::size_t n = static_cast<std::size_t>(v.count);
  const auto* ints = static_cast<const std::int64_t*>(v.data);
  const auto* floats = static_cast<const double*>(v.data);
  const auto* texts = static_cast<const belay_str*>(v.data);
  switch (v.type) {
    case BELAY_VALUE_BOOL:
    case BELAY_VALUE_INT: return ints[0];
    case BELAY_VALUE_FLOAT: return floats[0];
    case BELAY_VALUE_TEXT: return std::string(view(texts[0]));
    case BELAY_VALUE_TENSOR: {
      const auto& t = *static_cast<const belay_tensor*>(v.data);
      detail::check_tensor(t);
      return DenseTensor(TensorView(t));
    }
    case BELAY_VALUE_BOOL | BELAY_VALUE_LIST:
    case BELAY_VALUE_INT | BELAY_VALUE_LIST: return std::vector<std::int64_t>(ints, ints + n);
    case BELAY_VALUE_FLOAT | BELAY_VALUE_LIST: return std::vector<double>(floats, floats + n);
    case BELAY_VALUE_TEXT | BELAY_VALUE_LIST: {
      std::vector<std::string> out;
      for (std::size_t i = 0; i < n; ++i) out.emplace_back(view(texts[i]));
      return out;
    }
    default: fail(Code::kInvalidArgument, fmt::format("an attribute has the unknown value type {}", v.type));
  }
}

// A view of an attribute. `texts` and `tensor` own the data of `value`.
struct AttrView {
  std::vector<belay_str> texts;
  belay_tensor tensor;
  belay_value value;
};

void view_attr(const AttrValue& v, AttrView& out) {
  out.value = belay_value{};
  const auto set = [&](std::int32_t type, std::uint64_t count, const void* data) {
    out.value = {type, 0, count, data};
  };
  if (const auto* i = std::get_if<std::int64_t>(&v)) {
    set(BELAY_VALUE_INT, 1, i);
  } else if (const auto* d = std::get_if<double>(&v)) {
    set(BELAY_VALUE_FLOAT, 1, d);
  } else if (const auto* s = std::get_if<std::string>(&v)) {
    out.texts = {detail::str(*s)};
    set(BELAY_VALUE_TEXT, 1, out.texts.data());
  } else if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&v)) {
    set(BELAY_VALUE_INT | BELAY_VALUE_LIST, ints->size(), ints->data());
  } else if (const auto* floats = std::get_if<std::vector<double>>(&v)) {
    set(BELAY_VALUE_FLOAT | BELAY_VALUE_LIST, floats->size(), floats->data());
  } else if (const auto* list = std::get_if<std::vector<std::string>>(&v)) {
    out.texts.clear();
    for (const std::string& t : *list) out.texts.push_back(detail::str(t));
    set(BELAY_VALUE_TEXT | BELAY_VALUE_LIST, out.texts.size(), out.texts.data());
  } else {
    out.tensor = std::get<DenseTensor>(v).view();
    out.tensor.flags |= BELAY_TENSOR_READ_ONLY;
    set(BELAY_VALUE_TENSOR, 1, &out.tensor);
  }
}

// Returned strings and views stay valid until this thread's next call, so callers copy at once.
thread_local std::string last_text;
thread_local AttrView last_attr;

std::uint64_t serial(belay_graph* graph) { return from_handle(graph).serial(); }
std::int32_t finalized(belay_graph* graph) { return from_handle(graph).finalized() ? 1 : 0; }

void check_lists(const belay_node_def& d) {
  detail::check_text("op", d.op);
  detail::check_text("name", d.name);
  detail::check_list("inputs", d.inputs, d.n_inputs);
  detail::check_list("control_inputs", d.control_inputs, d.n_control_inputs);
  detail::check_list("attrs", d.attrs, d.n_attrs);
  for (std::uint64_t i = 0; i < d.n_attrs; ++i) detail::check_text("the name of an attribute", d.attrs[i].name);
}

std::int32_t add_node(belay_graph* graph, const belay_node_def* def, std::uint32_t* node, belay_status* status) {
  return guard(status, [&] {
    NodeGraph& g = from_handle(graph);
    belay_node_def room;
    const belay_node_def& d = detail::read_sized(def, room);
    check_lists(d);
    std::vector<Port> inputs;
    for (std::uint64_t i = 0; i < d.n_inputs; ++i) {
      const Port in = g.resolve(d.inputs[i]);
      if (in.index == BELAY_OPERATION)
        fail(Code::kInvalidArgument,
             fmt::format("'{}' is an operation without a value; node '{}' ({}) cannot take it as input {}",
                         g.port_name(in), view(d.name), view(d.op), i));
      inputs.push_back(g.visible(in));
    }
    std::vector<std::uint32_t> controls;
    for (std::uint64_t i = 0; i < d.n_control_inputs; ++i) controls.push_back(g.resolve(d.control_inputs[i]).node);
    Attrs attrs;
    for (std::uint64_t i = 0; i < d.n_attrs; ++i)
      attrs.set(std::string(view(d.attrs[i].name)), attr_value(std::string(view(d.attrs[i].name)), d.attrs[i].value));
    *node = g.add(view(d.op), view(d.name), std::move(inputs), std::move(controls), std::move(attrs));
  });
}

std::int32_t find_output(belay_graph* graph, belay_str name, belay_output* output, belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    const Port p = g.find(view(name));
    *output = {g.serial(), p.node, p.index};
  });
}

std::int32_t node_info(belay_graph* graph, std::uint32_t node, belay_node_info* info, belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    g.resolve({g.serial(), node, BELAY_OPERATION});
    const Node& n = g.node(node);
    auto ours = detail::sized<belay_node_info>();
    ours.op = detail::str(n.op->name);
    ours.name = detail::str(n.name);
    ours.n_inputs = static_cast<std::uint32_t>(n.inputs.size());
    ours.n_outputs = static_cast<std::uint32_t>(n.outputs.size());
    detail::fill_sized(info, ours);
  });
}

std::int32_t output_info(belay_graph* graph, belay_output output, belay_output_info* info, belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    const Port p = g.resolve(output);
    last_text = g.port_name(p);
    auto ours = detail::sized<belay_output_info>();
    ours.name = detail::str(last_text);
    if (p.index != BELAY_OPERATION) {
      const auto& [dtype, shape] = g.spec(p);
      ours.dtype = static_cast<std::int32_t>(dtype);
      ours.rank = shape.rank();
      ours.dims = shape.dims().data();
    }
    detail::fill_sized(info, ours);
  });
}

std::int32_t input(belay_graph* graph, std::uint32_t node, std::uint32_t index, belay_output* output,
                   belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    g.resolve({g.serial(), node, BELAY_OPERATION});
    const Node& n = g.node(node);
    if (index >= n.inputs.size())
      fail(Code::kInvalidArgument,
           fmt::format("node '{}' has {} inputs, there is no input {}", n.name, n.inputs.size(), index));
    *output = {g.serial(), n.inputs[index].node, n.inputs[index].index};
  });
}

std::int32_t attr(belay_graph* graph, std::uint32_t node, belay_str name, belay_value* value, belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    g.resolve({g.serial(), node, BELAY_OPERATION});
    const AttrValue* v = g.node(node).attrs.given(view(name));
    if (v == nullptr)
      fail(Code::kNotFound, "node '" + g.node(node).name + "' has no attribute '" + std::string(view(name)) + "'");
    view_attr(*v, last_attr);
    *value = last_attr.value;
  });
}

std::int32_t will_fetch(belay_graph* graph, belay_output output, belay_status* status) {
  return guard(status, [&] {
    NodeGraph& g = from_handle(graph);
    g.announce(g.resolve(output));
  });
}

std::int32_t enter_scope(belay_graph* graph, belay_str name, belay_status* status) {
  return guard(status, [&] { from_handle(graph).enter_scope(view(name)); });
}
void leave_scope(belay_graph* graph) { from_handle(graph).leave_scope(); }

std::vector<Port> ports(const NodeGraph& g, const belay_output* outputs, std::uint64_t n) {
  std::vector<Port> out;
  for (std::uint64_t i = 0; i < n; ++i) out.push_back(g.resolve(outputs[i]));
  return out;
}

std::int32_t enter_control(belay_graph* graph, const belay_output* outputs, std::uint64_t n, belay_status* status) {
  return guard(status, [&] { from_handle(graph).enter_control(ports(from_handle(graph), outputs, n)); });
}
void leave_control(belay_graph* graph) { from_handle(graph).leave_control(); }

std::int32_t collect(belay_graph* graph, belay_str collection, belay_output output, belay_status* status) {
  return guard(status, [&] { from_handle(graph).collect(view(collection), from_handle(graph).resolve(output)); });
}
std::uint64_t collection_size(belay_graph* graph, belay_str collection) {
  return from_handle(graph).collection(view(collection)).size();
}
std::int32_t collection_item(belay_graph* graph, belay_str collection, std::uint64_t i, belay_output* output,
                             belay_status* status) {
  return guard(status, [&] {
    const NodeGraph& g = from_handle(graph);
    const auto& items = g.collection(view(collection));
    if (i >= items.size())
      fail(Code::kInvalidArgument,
           fmt::format("collection '{}' has {} items, there is no item {}", view(collection), items.size(), i));
    *output = {g.serial(), items[i].node, items[i].index};
  });
}

std::int32_t gradients(belay_graph* graph, const belay_output* ys, std::uint64_t n_ys, const belay_output* grad_ys,
                       const belay_output* xs, std::uint64_t n_xs, belay_output* out, belay_status* status) {
  return guard(status, [&] {
    NodeGraph& g = from_handle(graph);
    std::vector<Output> weights;
    if (grad_ys != nullptr)
      for (const Port& p : ports(g, grad_ys, n_ys)) weights.push_back(g.output(p));
    const std::vector<Output> found = add_gradients(g, ports(g, ys, n_ys), weights, ports(g, xs, n_xs));
    for (std::uint64_t i = 0; i < n_xs; ++i) out[i] = found[i] ? found[i].raw() : belay_output{0, 0, 0};
  });
}

std::int32_t begin_body(belay_graph* graph, belay_str name, belay_status* status) {
  return guard(status, [&] { from_handle(graph).begin_body(view(name)); });
}
std::int32_t end_body(belay_graph* graph, const belay_output* outputs, std::uint64_t n, belay_str* name,
                      belay_status* status) {
  return guard(status, [&] {
    NodeGraph& g = from_handle(graph);
    std::vector<Port> resolved;
    try {
      resolved = ports(g, outputs, n);
    } catch (...) {
      g.end_body({});
      throw;
    }
    last_text = g.end_body(resolved);
    if (name != nullptr) *name = detail::str(last_text);
  });
}

constexpr belay_graph_api kGraphApi{sizeof(belay_graph_api),
                                    0,
                                    checked<serial, detail::name_of_graph_serial>,
                                    checked<finalized, detail::name_of_graph_finalized>,
                                    checked<add_node, detail::name_of_graph_add_node>,
                                    checked<find_output, detail::name_of_graph_find>,
                                    checked<node_info, detail::name_of_graph_node_info>,
                                    checked<output_info, detail::name_of_graph_output_info>,
                                    checked<input, detail::name_of_graph_input>,
                                    checked<attr, detail::name_of_graph_attr>,
                                    checked<will_fetch, detail::name_of_graph_will_fetch>,
                                    checked<enter_scope, detail::name_of_graph_enter_scope>,
                                    checked<leave_scope, detail::name_of_graph_leave_scope>,
                                    checked<enter_control, detail::name_of_graph_enter_control>,
                                    checked<leave_control, detail::name_of_graph_leave_control>,
                                    checked<collect, detail::name_of_graph_collect>,
                                    checked<collection_size, detail::name_of_graph_collection_size>,
                                    checked<collection_item, detail::name_of_graph_collection_item>,
                                    checked<gradients, detail::name_of_graph_gradients, 1u << 3>,
                                    checked<begin_body, detail::name_of_graph_begin_body>,
                                    checked<end_body, detail::name_of_graph_end_body, 1u << 3>};

}  // namespace

const belay_graph_api* graph_service() noexcept { return &kGraphApi; }

}  // namespace belay::runtime
