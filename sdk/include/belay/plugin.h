// SPDX-License-Identifier: Apache-2.0
// The one include that a plugin needs: all kinds of plugins, BELAY_MODULE, and the helpers of hooks. Add other headers
// as needed: belay/ops/*.h to add nodes, heads.h for a model, example_order.h for an input, philox.h for random
// numbers.
//
//   #include <belay/plugin.h>
//   class Hello final : public belay::Hook {
//    public:
//     static constexpr auto about = belay::about("hello", "Logs a line when a session begins");
//     void after_create_session(belay::Session&) override { host().info("hello"); }
//   };
//   BELAY_MODULE("1.0.0", Hello)
#pragma once

#include "belay/checkpoint.h"
#include "belay/events.h"
#include "belay/global_step.h"
#include "belay/module.h"
#include "belay/second_or_step_timer.h"
#include "belay/tensor_text.h"
