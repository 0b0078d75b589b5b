// SPDX-License-Identifier: Apache-2.0
// The one include that a plugin needs.
#pragma once

#include "belay/checkpoint.h"
#include "belay/events.h"
#include "belay/global_step.h"
#include "belay/module.h"
#include "belay/second_or_step_timer.h"
#include "belay/tensor_text.h"
