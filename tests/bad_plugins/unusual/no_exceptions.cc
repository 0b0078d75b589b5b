// SPDX-License-Identifier: Apache-2.0
// C++ without exceptions and without RTTI. The SDK's classes need exceptions; abi.h does not.
#include "asks_a_failing_service.h"
