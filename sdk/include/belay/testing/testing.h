// SPDX-License-Identifier: Apache-2.0
// The whole test kit: a fake host and its services, and a driver for each kind of plugin that needs no engine. It is
// header-only and works with any test framework.
//
//   cluster_driver.h   clusters: several ranks in one process, a thread each
//   hook_driver.h      hooks: begin, create_session, step, save, recover, end
//   init_fn_driver.h   init functions, on variables and checkpoints that the test makes up
//   input_driver.h     inputs: spec, open, next, seek, the laws of a position, and what a training learned
//   op_driver.h        operations: shape rule, kernel on given values
//   saver_driver.h     savers: round trips, and files that are missing, cut or foreign
//
// The tests of a model, and of an operation's gradient, need the engine.
#pragma once

#include "belay/testing/cluster_driver.h"
#include "belay/testing/error_of.h"
#include "belay/testing/hook_driver.h"
#include "belay/testing/init_fn_driver.h"
#include "belay/testing/input_driver.h"
#include "belay/testing/op_driver.h"
#include "belay/testing/saver_driver.h"
