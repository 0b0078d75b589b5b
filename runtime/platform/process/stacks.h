// SPDX-License-Identifier: Apache-2.0
// Writes the call stacks of all threads of this process, for a hang or on demand.
#pragma once

namespace belay::runtime {

// Takes the real-time signal for questions to threads. Call it once, before other threads are started.
void install_stack_signal();

// Writes every thread's stack to the file descriptor, with a heading per thread and a line per frame. A line has the
// function's name, and library and offset for addr2line. If the library has debug information, it has source and line,
// too. There are no names while the dynamic linker runs a library's initializers. Threads that do not answer within a
// second are named.
void write_all_stacks(int fd);

// Does the same for one stack with known addresses, in a separate process. It is for the handler of a crash, whose heap
// may be broken. False: that process could not be made, or did not end well within some seconds. Then it has written
// nothing.
bool write_frames_in_copy(int fd, void* const* addresses, int count) noexcept;

}  // namespace belay::runtime
