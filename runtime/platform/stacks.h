// SPDX-License-Identifier: Apache-2.0
// The call stacks of all threads of this process, for a hang or on demand.
#pragma once

namespace belay::runtime {

// Takes the real-time signal that threads are asked with. Once, before other threads are started.
void install_stack_signal();

// Writes every thread's stack to the file descriptor: one heading per thread, one line per frame with the library and
// the offset (and the function's name where the library exports it, unless the dynamic linker is busy with a library's
// initializers), for addr2line. Threads that do not answer within a second are named.
void write_all_stacks(int fd);

}  // namespace belay::runtime
