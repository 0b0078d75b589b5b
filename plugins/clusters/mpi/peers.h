// SPDX-License-Identifier: Apache-2.0
// Knows whether the other ranks are alive. A launcher ends the job when a process dies. It does not notice a rank that
// was stopped, that left, or whose machine hangs. So a separate thread sends the others a sign of life four times in
// the timeout. Each rank also announces its end.
#pragma once

#include <atomic>
#include <chrono>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "library.h"

namespace belay_mpi {

class Peers {
 public:
  // Takes ownership of `ranks`; nothing else uses this communicator. With one rank there is no thread.
  Peers(MPI_Comm ranks, std::chrono::nanoseconds timeout);
  ~Peers();
  Peers(const Peers&) = delete;
  Peers& operator=(const Peers&) = delete;

  // Returns "rank 1 has ended or left"; empty: all are alive. [any]
  std::string failure() const;
  // Announces to all that this rank leaves. Only the first call counts. [main]
  void leave();

 private:
  using Clock = std::chrono::steady_clock;
  struct Peer {
    int rank = 0;
    int sent = 0, received = 0;  // buffers of the requests
    MPI_Request sending = MPI_REQUEST_NULL, receiving = MPI_REQUEST_NULL;
    std::chrono::nanoseconds silent{};  // since its last sign
    Clock::time_point left;             // when it announced it; the epoch: it has not
  };

  void watch();
  void look(Peer& peer, std::chrono::nanoseconds since_last_look);
  void send(Peer& peer, int sign);

  const MPI_Comm ranks_;
  const std::chrono::nanoseconds timeout_;
  std::vector<Peer> peers_;
  mutable std::mutex mutex_;
  std::string failure_;
  std::atomic<bool> over_{false};
  std::thread thread_;
};

}  // namespace belay_mpi
