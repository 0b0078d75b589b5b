// SPDX-License-Identifier: Apache-2.0
/* A program, which no loader should take for a library. */
int main(void) { return 0; }
