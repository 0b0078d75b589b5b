// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/layers/step_stats.h"

#include <cstdint>

#include "runtime/events/proto/event.pb.h"

namespace belay::runtime {
namespace {

constexpr std::int64_t kMicrosecond = 1000;

void describe(const TracedNode& node, pb::NodeExecStats& out) {
  // Both ends are rounded, so consecutive nodes neither overlap nor leave a gap.
  const std::int64_t start = node.start_ns / kMicrosecond, took = node.end_ns / kMicrosecond - start;
  out.set_node_name(node.name);
  out.set_timeline_label(node.name + " = " + node.op);
  out.set_all_start_micros(start);
  out.set_op_end_rel_micros(took);
  out.set_all_end_rel_micros(took);
  if (node.output_bytes == 0) return;
  pb::AllocatorMemoryUsed& memory = *out.add_memory();
  memory.set_allocator_name("cpu");
  memory.set_total_bytes(static_cast<std::int64_t>(node.output_bytes));
}

}  // namespace

std::string serialized_run_metadata(const RunMetadata& run) {
  pb::RunMetadata out;
  pb::DeviceStepStats& device = *out.mutable_step_stats()->add_dev_stats();
  device.set_device("/device:CPU:0");
  for (const TracedNode& node : run.nodes) describe(node, *device.add_node_stats());
  return out.SerializeAsString();
}

}  // namespace belay::runtime
