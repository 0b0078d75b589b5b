// SPDX-License-Identifier: Apache-2.0
/* No exception could pass through frames without unwind tables. None does. */
#include "asks_a_failing_service.h"
