// SPDX-License-Identifier: Apache-2.0
// The call stacks of all threads of this process, for a hang or on demand.
#pragma once

namespace belay::runtime {

// Takes the real-time signal that threads are asked with. Once, before other threads are started.
void install_stack_signal();

// Writes every thread's stack to the file descriptor: one heading per thread, one line per frame with the function's
// name, the source and line where the library has debug information, and library and offset, for addr2line. Without
// names while the dynamic linker is busy with a library's initializers. Threads that do not answer within a second are
// named.
void write_all_stacks(int fd);

// The same of one stack whose addresses are known, in a process of its own: for the handler of a crash, whose heap may
// be broken. False: that process could not be made or did not end well within some seconds, and has written nothing.
bool write_frames_in_copy(int fd, void* const* addresses, int count) noexcept;

}  // namespace belay::runtime
