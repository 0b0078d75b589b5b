// SPDX-License-Identifier: Apache-2.0
// Formats a traced run as a Chrome trace, for chrome://tracing, Perfetto or speedscope.
#pragma once

#include <belay/session.h>

#include <chrono>
#include <string>
#include <vector>

// Node `to` of the trace reads a value from node `from`.
struct TraceEdge {
  std::size_t from;
  std::size_t to;
};

// Another part of the time: a phase of the step, or a save. `track` is its line in the trace.
struct TraceSpan {
  const char* track;
  const char* name;
  std::chrono::nanoseconds start;
  std::chrono::nanoseconds end;
};

struct TraceOptions {
  bool dataflow = true;  // an arrow from each node to the users of its output
  bool memory = false;   // a counter of the bytes of outputs that later nodes still need
  bool phases = true;    // the spans
};

// Returns the edges between traced nodes. They may lead through nodes without a trace (constants, variables, parts of a
// fused node).
std::vector<TraceEdge> trace_edges(const belay::Graph& graph, const std::vector<belay::NodeStats>& nodes);

// Formats times as microseconds since the first start of a node or span. The nodes are one track; the tracks of spans
// are below it.
std::string chrome_trace(const std::vector<belay::NodeStats>& nodes, const std::vector<TraceEdge>& edges,
                         const std::vector<TraceSpan>& spans, const TraceOptions& options);
