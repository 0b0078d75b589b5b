// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/services/host_services.h"

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/data/input_service.h"
#include "runtime/events/event_service.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/hooks/state_service.h"
#include "runtime/monitored/model/model_service.h"
#include "runtime/monitored/services/checkpoint_service.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/session/session_service.h"

namespace belay::runtime {

void add_session_services(HostServices& services) {
  services.add("graph", graph_service());
  services.add("session", session_service());
  services.add("coordinator", coordinator_service());
  services.add("model", model_service());
  services.add("input", input_service());
  services.add("files", files_service());
  services.add("saver", saver_service());
  services.add("checkpoint", checkpoint_service());
  services.add("events", events_service());
  services.add("state", state_service());
  services.add("op", op_service());
}

}  // namespace belay::runtime
