// SPDX-License-Identifier: Apache-2.0
// Belay's operations in ONNX's of opset 17: one function an operation, in tables by name. docs/reference/exporters.md
// lists them.
#pragma once

#include <belay/plugin.h>

#include <map>
#include <string_view>

#include "graph_writer.h"

namespace belay_onnx {

inline constexpr std::int64_t kOpset = 17;
inline constexpr std::int64_t kIrVersion = 8;

// Adds the nodes of one operation and names its outputs.
using Translate = void (*)(GraphWriter&, const belay::ExportNode&);
using Table = std::map<std::string_view, Translate>;

// Those that are an operation of ONNX with the same inputs and no attribute.
const std::map<std::string_view, const char*>& same_table();
const Table& elementwise_table();
const Table& shape_table();    // reductions and shapes
const Table& network_table();  // products, convolutions, norms, recurrent layers, attention

// UNIMPLEMENTED names node, operation and model.
void translate(GraphWriter& to, const belay::ExportNode& node);

// x with its dimensions in another order.
std::string transposed(GraphWriter& to, const belay::ExportNode& node, const std::string& x, const Ints& perm);

}  // namespace belay_onnx
