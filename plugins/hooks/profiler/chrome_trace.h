// SPDX-License-Identifier: Apache-2.0
// A traced run in Chrome's trace format, for chrome://tracing, Perfetto or speedscope.
#pragma once

#include <belay/session.h>

#include <chrono>
#include <string>
#include <vector>

// A value that node b of the trace reads from node a.
struct TraceEdge {
  std::size_t from;
  std::size_t to;
};

// Something else that took time: a phase of the step, a save. `track`: which line of the trace it is on.
struct TraceSpan {
  const char* track;
  const char* name;
  std::chrono::nanoseconds start;
  std::chrono::nanoseconds end;
};

struct TraceOptions {
  bool dataflow = true;  // an arrow from each node to those that use its output
  bool memory = false;   // a counter of the bytes of outputs that a later node still needs
  bool phases = true;    // the spans
};

// Which traced nodes feed which, also through nodes that left no trace (constants, variables, parts of a fused one).
std::vector<TraceEdge> trace_edges(const belay::Graph& graph, const std::vector<belay::NodeStats>& nodes);

// Times are microseconds since the first start of a node or span. The nodes are one track, the spans others below it.
std::string chrome_trace(const std::vector<belay::NodeStats>& nodes, const std::vector<TraceEdge>& edges,
                         const std::vector<TraceSpan>& spans, const TraceOptions& options);
