// SPDX-License-Identifier: Apache-2.0
// Translates Belay's operations to ONNX of opset 17. Each operation has a function in a table by name.
// docs/reference/exporters.md lists them.
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

// The operations that ONNX has with the same inputs and without attributes.
const std::map<std::string_view, const char*>& same_table();
const Table& elementwise_table();
const Table& shape_table();    // reductions and shapes
const Table& network_table();  // products, convolutions, norms, recurrent layers, attention

// Translates one node. UNIMPLEMENTED names node, operation and model.
void translate(GraphWriter& to, const belay::ExportNode& node);

// Returns x with its dimensions in another order.
std::string transposed(GraphWriter& to, const belay::ExportNode& node, const std::string& x, const Ints& perm);

}  // namespace belay_onnx
