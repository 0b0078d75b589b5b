// SPDX-License-Identifier: Apache-2.0
#include "graph_writer.h"

namespace belay_onnx {

using belay::Code;
using belay::DType;
using belay::ExportNode;
using belay::fail;
using belay::TensorView;

std::int32_t onnx_type(DType dtype) {
  switch (dtype) {
    case DType::kFloat32: return 1;
    case DType::kUInt8: return 2;
    case DType::kInt32: return 6;
    case DType::kInt64: return 7;
    case DType::kBool: return 9;
    case DType::kFloat16: return 10;
    case DType::kFloat64: return 11;
    case DType::kBFloat16: return 16;
    default:
      fail(Code::kUnimplemented,
           std::string("a tensor of type ") + belay::dtype_name(dtype) + " has no ONNX type here");
  }
}

GraphWriter::GraphWriter(const belay::ExportContext& model, belay::onnx::Graph& graph) : model_(model), graph_(graph) {
  const belay::TensorSource& variables = model_.variables();
  for (std::uint64_t i = 0; i < variables.count(); ++i) {
    const auto [name, value] = variables.get(i);
    variables_.emplace(std::string(name), value);
  }
}

std::string GraphWriter::input(const ExportNode& node, std::uint32_t index) const {
  const belay::Output in = node.input(index);
  const auto found = values_.find({in.raw().node, in.raw().index});
  if (found != values_.end()) return found->second;
  node.fail_untranslated("its input " + std::to_string(index) + ", " + in.text() +
                         ", is an output that has no translation to ONNX");
}

std::string GraphWriter::value(const belay::Output& output) const {
  const auto found = values_.find({output.raw().node, output.raw().index});
  if (found != values_.end()) return found->second;
  fail(Code::kUnimplemented, "the output " + output.text() + " of the model '" + std::string(model_.model()) +
                                 "' has no translation to ONNX");
}

void GraphWriter::set(const belay::Output& output, std::string name) {
  values_[{output.raw().node, output.raw().index}] = std::move(name);
}

void GraphWriter::add_node(const char* op, const Names& inputs, const Names& outputs,
                           std::initializer_list<Attr> attributes) {
  belay::onnx::Node& n = *graph_.add_node();
  n.set_op_type(op);
  n.set_name(outputs.at(0));
  for (const std::string& in : inputs) n.add_input(in);
  for (const std::string& out : outputs) n.add_output(out);
  for (const Attr& a : attributes) {
    belay::onnx::Attribute& to = *n.add_attribute();
    to.set_name(a.name);
    if (const auto* i = std::get_if<std::int64_t>(&a.value)) {
      to.set_i(*i), to.set_type(belay::onnx::Attribute::INT);
    } else if (const auto* f = std::get_if<float>(&a.value)) {
      to.set_f(*f), to.set_type(belay::onnx::Attribute::FLOAT);
    } else if (const auto* s = std::get_if<std::string>(&a.value)) {
      to.set_s(*s), to.set_type(belay::onnx::Attribute::STRING);
    } else {
      for (const std::int64_t v : std::get<Ints>(a.value)) to.add_ints(v);
      to.set_type(belay::onnx::Attribute::INTS);
    }
  }
}

std::string GraphWriter::add(const char* op, const Names& inputs, const std::string& name,
                             std::initializer_list<Attr> attributes) {
  add_node(op, inputs, {name}, attributes);
  return name;
}

std::string GraphWriter::step(const ExportNode& node, const char* op, const Names& inputs,
                              std::initializer_list<Attr> attributes) {
  return add(op, inputs, node.name() + "/" + op + "_" + std::to_string(++steps_), attributes);
}

std::string GraphWriter::tensor(const std::string& name, DType dtype, const belay::Dims& dims, const void* data) {
  belay::onnx::Tensor& t = *graph_.add_initializer();
  std::size_t bytes = belay::dtype_size(dtype);
  for (const std::int64_t d : dims) t.add_dims(d), bytes *= static_cast<std::size_t>(d);
  t.set_data_type(onnx_type(dtype));
  t.set_name(name);
  if (bytes != 0) t.set_raw_data(data, bytes);
  return name;
}

std::string GraphWriter::ints(const Ints& values) {
  std::string key = "ints";
  for (const std::int64_t v : values) key += "_" + std::to_string(v);
  const auto [at, is_new] = constants_.emplace(key, key);
  if (is_new) tensor(key, DType::kInt64, {static_cast<std::int64_t>(values.size())}, values.data());
  return at->second;
}

std::string GraphWriter::scalar(DType dtype, double value) {
  const std::string key = std::string("scalar_") + belay::dtype_name(dtype) + "_" + belay::detail::number_text(value);
  const auto [at, is_new] = constants_.emplace(key, key);
  if (!is_new) return at->second;
  switch (dtype) {
    case DType::kFloat32: {
      const auto v = static_cast<float>(value);
      return tensor(key, dtype, {}, &v);
    }
    case DType::kFloat64: return tensor(key, dtype, {}, &value);
    case DType::kInt32: {
      const auto v = static_cast<std::int32_t>(value);
      return tensor(key, dtype, {}, &v);
    }
    default: {
      const auto v = static_cast<std::int64_t>(value);
      return tensor(key, DType::kInt64, {}, &v);
    }
  }
}

const TensorView& GraphWriter::value_of(const std::string& variable) const {
  const auto found = variables_.find(variable);
  if (found == variables_.end()) fail(Code::kNotFound, "there is no variable '" + variable + "'");
  return found->second;
}

TensorView GraphWriter::variable(const ExportNode& node, std::uint32_t index, const char* what) const {
  const belay::Output in = node.input(index);
  const ExportNode from(model_.graph(), in.raw().node, model_.model());
  if (from.op() != "Variable")
    node.fail_untranslated("its " + std::string(what) + ", " + in.text() + ", must be a variable");
  return value_of(from.name());
}

void GraphWriter::add_constant(const ExportNode& node, const TensorView& value) {
  set(node.output(), tensor(node.name(), value.dtype(), value.dims(), value.data()));
}

}  // namespace belay_onnx
