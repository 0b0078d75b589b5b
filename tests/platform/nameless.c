// SPDX-License-Identifier: Apache-2.0
// A library without a build id.
__attribute__((visibility("default"))) int nameless(void) { return NUMBER; }
