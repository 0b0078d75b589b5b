// The one include that a plugin needs.
#pragma once

#include "belay/checkpoint.h"
#include "belay/events.h"
#include "belay/module.h"
