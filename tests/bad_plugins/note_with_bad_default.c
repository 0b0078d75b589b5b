// SPDX-License-Identifier: Apache-2.0
/* The default is no number. */
#define NOTE_PLUGIN                                            \
  "{\"kind\": \"hook\", \"name\": \"minimal\", \"options\": [" \
  "{\"name\": \"max\", \"type\": \"float\", \"default\": \"ten\"}]}"
#include "minimal_hook.h"
