// SPDX-License-Identifier: Apache-2.0
#include "library.h"

#include <belay/error.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <mutex>
#include <utility>

namespace belay_mpi {
namespace {

using belay::Code;
using belay::fail;

std::atomic<bool> is_given_up{false};

// UCX, the base of MPICH, takes over the signals of a crash when it is loaded. But the host reports crashes. This runs
// before UCX is loaded (-z initfirst). UCX reads the variables then, and would complain about them later.
constexpr const char* kVariables[][2] = {{"UCX_HANDLE_ERRORS", "none"}, {"UCX_DEBUG_SIGNO", "0"}};
bool is_ours[std::size(kVariables)] = {};

__attribute__((constructor)) void leave_signals_to_the_host() {
  for (std::size_t i = 0; i < std::size(kVariables); ++i)
    is_ours[i] = std::getenv(kVariables[i][0]) == nullptr && ::setenv(kVariables[i][0], kVariables[i][1], 0) == 0;
}
void take_variables_away() {
  for (std::size_t i = 0; i < std::size(kVariables); ++i)
    if (std::exchange(is_ours[i], false)) ::unsetenv(kVariables[i][0]);
}

// Keeps the signal handlers that MPI_Init would replace.
class KeptSignalHandlers {
 public:
  KeptSignalHandlers() noexcept {
    for (int s = 1; s < NSIG; ++s) known_[index(s)] = ::sigaction(s, nullptr, &kept_[index(s)]) == 0;
  }
  ~KeptSignalHandlers() {
    for (int s = 1; s < NSIG; ++s)
      if (known_[index(s)]) ::sigaction(s, &kept_[index(s)], nullptr);
  }
  KeptSignalHandlers(const KeptSignalHandlers&) = delete;
  KeptSignalHandlers& operator=(const KeptSignalHandlers&) = delete;

 private:
  static std::size_t index(int s) noexcept { return static_cast<std::size_t>(s); }
  std::array<struct sigaction, NSIG> kept_{};
  std::array<bool, NSIG> known_{};
};

// If a rank only left, others would hang in MPI_Finalize, which waits for it. After MPI_Abort, Open MPI's mpirun itself
// hangs at times when the ranks have ended (4.1.4: PMIx_server_finalize waits for a thread that waits for a lock). But
// every launcher notices a rank that a signal ends.
void end_mpi() {
  int ended = 0;
  MPI_Finalized(&ended);
  if (ended) return;
  if (!given_up()) {
    MPI_Finalize();
    return;
  }
  std::fflush(nullptr);
  sigset_t term;
  ::sigemptyset(&term);
  ::sigaddset(&term, SIGTERM);
  ::signal(SIGTERM, SIG_DFL);
  ::pthread_sigmask(SIG_UNBLOCK, &term, nullptr);
  ::raise(SIGTERM);
}

}  // namespace

void make_ready() {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  int ready = 0, ended = 0, threads = MPI_THREAD_SINGLE;
  MPI_Finalized(&ended);
  if (ended) fail(Code::kFailedPrecondition, "MPI has ended in this process (MPI_Finalize), and cannot begin again");
  if (given_up())
    fail(Code::kUnavailable, "MPI cannot be used any more: an earlier call of this process was left open");
  MPI_Initialized(&ready);
  if (!ready) {
    take_variables_away();
    const KeptSignalHandlers kept;
    check(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_MULTIPLE, &threads), "MPI_Init_thread");
    std::atexit(end_mpi);  // after MPI_Init, so that the libraries loaded by MPI still exist
  } else {
    check(MPI_Query_thread(&threads), "MPI_Query_thread");
  }
  if (threads < MPI_THREAD_MULTIPLE)
    fail(Code::kFailedPrecondition,
         ready ? "the program has called MPI_Init; a run needs MPI_Init_thread with MPI_THREAD_MULTIPLE"
               : "this MPI was built without MPI_THREAD_MULTIPLE, which a run needs");
}

void give_up() noexcept { is_given_up = true; }
bool given_up() noexcept { return is_given_up; }

void check(int result, const char* what) {
  if (result == MPI_SUCCESS) return;
  char words[MPI_MAX_ERROR_STRING + 1] = {};
  int length = 0;
  MPI_Error_string(result, words, &length);
  give_up();
  fail(Code::kInternal, std::string(what) + " has failed: " + std::string(words, static_cast<std::size_t>(length)));
}

}  // namespace belay_mpi
