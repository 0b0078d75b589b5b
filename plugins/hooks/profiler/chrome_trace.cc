// SPDX-License-Identifier: Apache-2.0
#include "chrome_trace.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

namespace {

using json = nlohmann::ordered_json;

double micros(std::chrono::nanoseconds t) { return std::chrono::duration<double, std::micro>(t).count(); }

json event(const char* phase, const char* category, const std::string& name, double at) {
  return {{"ph", phase}, {"cat", category}, {"name", name}, {"pid", 0}, {"tid", 0}, {"ts", at}};
}

// Adds the bytes of living outputs after each change. An output lives from its node's start until its last user's end.
void add_memory(json& events, const std::vector<belay::NodeStats>& nodes, const std::vector<TraceEdge>& edges,
                std::chrono::nanoseconds start) {
  std::vector<std::chrono::nanoseconds> last_use;
  for (const belay::NodeStats& node : nodes) last_use.push_back(node.end);
  for (const TraceEdge& e : edges) last_use[e.from] = std::max(last_use[e.from], nodes[e.to].end);
  std::map<std::chrono::nanoseconds, std::int64_t> changes;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].output_bytes == 0) continue;
    changes[nodes[i].start] += static_cast<std::int64_t>(nodes[i].output_bytes);
    changes[last_use[i]] -= static_cast<std::int64_t>(nodes[i].output_bytes);
  }
  std::int64_t alive = 0;
  for (const auto& [at, change] : changes) {
    json counter = event("C", "memory", "output memory", micros(at - start));
    counter["args"] = {{"bytes", alive += change}};
    events.push_back(std::move(counter));
  }
}

// Numbers the tracks in the order of their first spans; 0 is the track of the nodes.
void add_spans(json& events, const std::vector<TraceSpan>& spans, std::chrono::nanoseconds start) {
  std::vector<std::string> tracks;
  for (const TraceSpan& span : spans) {
    auto track = std::find(tracks.begin(), tracks.end(), span.track);
    const auto number = static_cast<std::int64_t>(track - tracks.begin()) + 1;
    if (track == tracks.end()) {
      tracks.emplace_back(span.track);
      events.push_back(
          {{"ph", "M"}, {"name", "thread_name"}, {"pid", 0}, {"tid", number}, {"args", {{"name", span.track}}}});
    }
    json slice = event("X", "phase", span.name, micros(span.start - start));
    slice["tid"] = number;
    slice["dur"] = micros(span.end - span.start);
    slice["args"] = {{"name", span.name}};
    events.push_back(std::move(slice));
  }
}

}  // namespace

std::vector<TraceEdge> trace_edges(const belay::Graph& graph, const std::vector<belay::NodeStats>& nodes) {
  std::map<std::uint32_t, std::size_t> traced;
  for (std::size_t i = 0; i < nodes.size(); ++i) traced.emplace(nodes[i].output.raw().node, i);
  std::vector<TraceEdge> edges;
  for (std::size_t to = 0; to < nodes.size(); ++to) {
    std::set<std::uint32_t> seen{nodes[to].output.raw().node};
    std::vector<belay::Output> open{nodes[to].output};
    while (!open.empty()) {
      const belay::Output at = open.back();
      open.pop_back();
      for (const belay::Output& input : graph.inputs_of(at)) {
        if (!seen.insert(input.raw().node).second) continue;
        const auto from = traced.find(input.raw().node);
        if (from == traced.end()) {
          open.push_back(input);
        } else if (nodes[from->second].start <= nodes[to].start) {  // no arrow back through a variable's later write
          edges.push_back({from->second, to});
        }
      }
    }
  }
  std::sort(edges.begin(), edges.end(),
            [](const TraceEdge& a, const TraceEdge& b) { return a.to != b.to ? a.to < b.to : a.from < b.from; });
  return edges;
}

std::string chrome_trace(const std::vector<belay::NodeStats>& nodes, const std::vector<TraceEdge>& edges,
                         const std::vector<TraceSpan>& spans, const TraceOptions& options) {
  json events = json::array();
  events.push_back({{"ph", "M"}, {"name", "process_name"}, {"pid", 0}, {"args", {{"name", "belay"}}}});
  events.push_back({{"ph", "M"}, {"name", "thread_name"}, {"pid", 0}, {"tid", 0}, {"args", {{"name", "nodes"}}}});
  std::chrono::nanoseconds start = nodes.empty() ? std::chrono::nanoseconds{} : nodes[0].start;
  for (const belay::NodeStats& node : nodes) start = std::min(start, node.start);
  for (const TraceSpan& span : spans) start = std::min(start, span.start);
  add_spans(events, spans, start);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const belay::NodeStats& node = nodes[i];
    json slice = event("X", "op", std::string(node.op), micros(node.start - start));
    slice["dur"] = micros(node.end - node.start);
    json args = {{"name", node.name}, {"op", node.op}, {"output_bytes", node.output_bytes}};
    std::size_t inputs = 0;
    for (const TraceEdge& e : edges)
      if (e.to == i) args["input" + std::to_string(inputs++)] = nodes[e.from].name;
    slice["args"] = std::move(args);
    events.push_back(std::move(slice));
  }
  for (std::size_t i = 0; options.dataflow && i < edges.size(); ++i) {
    // The ends of an arrow lie inside the slices that it joins.
    const belay::NodeStats& from = nodes[edges[i].from];
    json begin = event("s", "dataflow", std::string(from.name), micros(from.end - start));
    begin["id"] = i;
    json end = event("t", "dataflow", std::string(from.name), micros(nodes[edges[i].to].start - start));
    end["id"] = i;
    events.push_back(std::move(begin));
    events.push_back(std::move(end));
  }
  if (options.memory) add_memory(events, nodes, edges, start);
  return json{{"displayTimeUnit", "ms"}, {"traceEvents", std::move(events)}}.dump(1, ' ', false,
                                                                                  json::error_handler_t::replace) +
         "\n";
}
