// What a run stands on: the world's edges and the settings that its sessions share. Borrowed by all who take it.
#pragma once

#include "runtime/ops/cancellation.h"
#include "runtime/platform/clock.h"
#include "runtime/platform/file_system.h"
#include "runtime/platform/logger.h"
#include "runtime/session/direct_session.h"
#include "runtime/session/variable_store.h"

namespace belay::runtime {

struct RunEnvironment {
  Clock& clock;
  Logger& log;
  FileSystem& files;
  StoreTargets& targets;
  CancellationSource& interrupt;  // a signal: ends every wait of the run
  SessionOptions session;         // threads, seed, queues
};

// Waits by the environment's clock; throws the reason of an interrupt.
void pause(const RunEnvironment& environment, double seconds);

}  // namespace belay::runtime
