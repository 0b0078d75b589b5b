// SPDX-License-Identifier: Apache-2.0
/* Uses every macro of abi.h, so that each language level sees it. */
#include <belay/abi.h>

#define NOTE_TEXT "{\"abi\": " BELAY_NOTE_ABI "}"
BELAY_NOTE(note, NOTE_TEXT);

typedef struct Slots {
  BELAY_INSTANCE_SLOTS;
} Slots;

static const belay_plugin* const plugins[] = {0};

extern const belay_module belay_module_v0;
const belay_module belay_module_v0 = {BELAY_MODULE_MAGIC, sizeof(belay_module), BELAY_ABI_MAJOR, BELAY_ABI_MINOR, 0, 0,
                                      note.text,          sizeof(NOTE_TEXT) - 1, plugins,        0};

int main(void) {
  const Slots slots = {0, 0, 0};
  const belay_output operation = {0, 0, BELAY_OPERATION};
  return slots.create == 0 && operation.index == BELAY_OPERATION && sizeof(BELAY_MODULE_SYMBOL) == 16 &&
                 belay_module_v0.note[0] == '{'
             ? 0
             : 1;
}
