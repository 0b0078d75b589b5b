// SPDX-License-Identifier: Apache-2.0
#include "layers.h"

#include <belay/nearest.h>
#include <belay/ops/activations.h>
#include <belay/ops/convolution.h>
#include <belay/ops/embedding.h>
#include <belay/ops/matmul.h>
#include <belay/ops/normalization.h>
#include <belay/ops/pooling.h>
#include <belay/ops/random.h>
#include <belay/ops/recurrent.h>
#include <belay/ops/shape.h>

#include <algorithm>

namespace sequential_model {
namespace {

namespace ops = belay::ops;
using belay::Code;
using belay::Output;
using Apply = std::function<Output(const LayerInput&)>;

const std::vector<std::string> kActivations{"none", "relu",    "relu6", "leaky_relu",
                                            "elu",  "sigmoid", "tanh",  "softplus"};
const std::vector<std::string> kPaddings{"VALID", "SAME"};

ops::HeightWidth size_of(const std::vector<std::int64_t>& size) { return {size[0], size[1]}; }

void need_image(const Output& x) {
  if (x.rank() != 4)
    belay::fail(Code::kInvalidArgument,
                x.text() +
                    " is no image [batch, height, width, channels]; put { type = \"reshape\", shape = [height, "
                    "width, channels] } before it");
}

Apply dense(LayerSettings& s, const std::string& name) {
  ops::DenseOptions o;
  const std::int64_t units = s.integer("units", 1);
  o.activation = ops::activation_named(s.text("activation", kActivations, "none"));
  o.use_bias = s.boolean("use_bias", true);
  return [=](const LayerInput& in) mutable {
    if (in.x.rank() > 3)
      belay::fail(Code::kInvalidArgument, in.x.text() +
                                              " has more than one row for an example; put { type = "
                                              "\"flatten\" } before it");
    o.name = name;
    return ops::dense_last(in.x, units, o);
  };
}

Apply conv(LayerSettings& s, const std::string& name) {
  const std::int64_t filters = s.integer("filters", 1);
  const ops::HeightWidth size = size_of(s.height_width("size"));
  const ops::HeightWidth strides = size_of(s.height_width("strides", 1));
  const ops::HeightWidth dilations = size_of(s.height_width("dilations", 1));
  const std::string padding = s.text("padding", kPaddings, "VALID");
  const ops::Activation activation = ops::activation_named(s.text("activation", kActivations, "none"));
  const bool use_bias = s.boolean("use_bias", true);
  return [=](const LayerInput& in) {
    need_image(in.x);
    ops::Conv2dOptions o;
    o.window.strides = strides;
    o.window.dilations = dilations;
    o.window.padding = padding;
    o.activation = activation;
    o.use_bias = use_bias;
    o.name = name;
    return ops::conv2d(in.x, filters, size, o);
  };
}

template <class Pool>
Apply pooling(LayerSettings& s, const std::string& name, Pool pool) {
  const std::vector<std::int64_t> size = s.height_width("size");
  const std::vector<std::int64_t> strides = s.height_width("strides", 0);
  const std::string padding = s.text("padding", kPaddings, "VALID");
  return [=](const LayerInput& in) {
    need_image(in.x);
    ops::PoolOptions o;
    o.strides = size_of(strides);
    o.padding = padding;
    return pool(in.x, size_of(size), o, name);
  };
}
Apply max_pool(LayerSettings& s, const std::string& name) {
  return pooling(s, name, [](auto&&... a) { return ops::max_pool2d(a...); });
}
Apply avg_pool(LayerSettings& s, const std::string& name) {
  return pooling(s, name, [](auto&&... a) { return ops::avg_pool2d(a...); });
}
Apply global_avg_pool(LayerSettings&, const std::string& name) {
  return [=](const LayerInput& in) {
    need_image(in.x);
    return ops::global_avg_pool2d(in.x, "NHWC", name);
  };
}

Apply flatten(LayerSettings&, const std::string& name) {
  return [=](const LayerInput& in) { return ops::flatten(in.x, name); };
}

Apply reshape(LayerSettings& s, const std::string& name) {
  const std::vector<std::int64_t> shape = s.integers("shape");
  for (const std::int64_t dim : shape)
    if (dim < 1) s.fail("'shape' holds " + std::to_string(dim) + ", must be >= 1: the dimensions of one example");
  return [=](const LayerInput& in) {
    std::int64_t wanted = 1, found = 1;
    for (const std::int64_t d : shape) wanted *= d;
    for (std::int32_t i = 1; i < in.x.rank(); ++i) found = in.x.dim(i) < 0 || found < 0 ? -1 : found * in.x.dim(i);
    if (found >= 0 && found != wanted)
      belay::fail(Code::kInvalidArgument, "shape = " + belay::dims_text(shape) + " has " + std::to_string(wanted) +
                                              " elements, an example of " + in.x.text() + " has " +
                                              std::to_string(found));
    belay::Dims dims{in.x.dim(0)};
    dims.insert(dims.end(), shape.begin(), shape.end());
    return ops::reshape(in.x, dims, name);
  };
}

Apply dropout(LayerSettings& s, const std::string& name) {
  const double rate = s.number("rate", 0, 0.999, 0.5);
  return [=](const LayerInput& in) { return in.training && rate > 0 ? ops::dropout(in.x, rate, name) : in.x; };
}

Apply batch_norm(LayerSettings& s, const std::string& name) {
  const double momentum = s.number("momentum", 0, 1, ops::BatchNormOptions().momentum);
  const double epsilon = s.number("epsilon", 1e-12, 1, ops::BatchNormOptions().epsilon);
  return [=](const LayerInput& in) {
    ops::BatchNormOptions o;
    o.momentum = momentum;
    o.epsilon = epsilon;
    o.name = name;
    return ops::batch_norm(in.x, in.training, o);
  };
}

Apply layer_norm(LayerSettings& s, const std::string& name) {
  const double epsilon = s.number("epsilon", 1e-12, 1, ops::LayerNormOptions().epsilon);
  return [=](const LayerInput& in) {
    ops::LayerNormOptions o;
    o.epsilon = epsilon;
    o.name = name;
    return ops::layer_norm(in.x, o);
  };
}

Apply activation(LayerSettings& s, const std::string&) {
  const ops::Activation function = ops::activation_named(s.text("function", kActivations));
  return [=](const LayerInput& in) { return ops::activate(in.x, function); };
}

Apply embedding(LayerSettings& s, const std::string& name) {
  const std::int64_t width = s.integer("width", 1), entries = s.integer("entries", 1, 0);
  return [=](const LayerInput& in) {
    const std::int64_t n = entries != 0 ? entries : in.ids;
    if (n == 0)
      belay::fail(Code::kInvalidArgument, "the input does not declare how many ids " + in.x.text() +
                                              " can have; set 'entries' to their number");
    if (in.x.dtype() != belay::DType::kInt32 && in.x.dtype() != belay::DType::kInt64)
      belay::fail(Code::kInvalidArgument, in.x.text() +
                                              " is no ids: an embedding is the first layer and takes int32 or "
                                              "int64");
    ops::EmbeddingOptions o;
    o.name = name;
    return ops::embedding(in.x, n, width, o);
  };
}

Apply lstm(LayerSettings& s, const std::string& name) {
  const std::int64_t units = s.integer("units", 1);
  const bool sequences = s.boolean("return_sequences", false);
  return [=](const LayerInput& in) {
    ops::LstmOptions o;
    o.name = name;
    const ops::LstmResult r = ops::lstm(in.x, units, o);
    return sequences ? r.y : r.h;
  };
}

Apply gru(LayerSettings& s, const std::string& name) {
  const std::int64_t units = s.integer("units", 1);
  const bool sequences = s.boolean("return_sequences", false);
  return [=](const LayerInput& in) {
    ops::GruOptions o;
    o.name = name;
    const ops::GruResult r = ops::gru(in.x, units, o);
    return sequences ? r.y : r.h;
  };
}

struct LayerType {
  const char* name;
  Apply (*make)(LayerSettings&, const std::string& name);
};
constexpr LayerType kTypes[] = {
    {"dense", dense},
    {"conv", conv},
    {"max_pool", max_pool},
    {"avg_pool", avg_pool},
    {"global_avg_pool", global_avg_pool},
    {"flatten", flatten},
    {"reshape", reshape},
    {"dropout", dropout},
    {"batch_norm", batch_norm},
    {"layer_norm", layer_norm},
    {"activation", activation},
    {"embedding", embedding},
    {"lstm", lstm},
    {"gru", gru},
};

// The error names `place` if the type does not exist.
const LayerType& type_named(const std::string& name, const std::string& place) {
  std::vector<std::string> types;
  std::string list;
  for (const LayerType& type : kTypes) {
    if (name == type.name) return type;
    types.emplace_back(type.name);
    list += (list.empty() ? "" : ", ") + types.back();
  }
  belay::fail(Code::kInvalidArgument,
              place + ": there is no such type" + belay::did_you_mean(name, types) + "; the types are " + list);
}

}  // namespace

void check_types(const belay::Table& defaults) {
  for (std::size_t i = 0; i < defaults.size(); ++i) {
    const std::string_view path = defaults.key(i);
    const std::string type(path.substr(0, path.find('.')));
    type_named(type, "'defaults." + type + "'");
  }
}

Layer make_layer(LayerSettings settings, const std::string& name) {
  const std::string place = settings.place();
  const LayerType& type = type_named(settings.type(), place);
  const std::string given = settings.free_text("name");
  const Apply apply = type.make(settings, given.empty() ? name : given);
  settings.refuse_unknown();
  Layer layer;
  layer.place = place;
  layer.takes_ids = settings.type() == "embedding";
  layer.apply = [apply, place](const LayerInput& in) {
    try {
      return apply(in);
    } catch (const belay::Error& e) {
      belay::fail(e.code(), place + ": " + e.what());
    }
  };
  return layer;
}

}  // namespace sequential_model
