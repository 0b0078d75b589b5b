// SPDX-License-Identifier: Apache-2.0
/* Takes the place of the other plugin of a circle while the first one is linked. */
__attribute__((visibility("default"))) const char* OWN(void);
const char* OWN(void) { return "nobody"; }
