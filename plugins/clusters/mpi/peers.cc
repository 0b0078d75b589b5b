// SPDX-License-Identifier: Apache-2.0
#include "peers.h"

#include <belay/error.h>

#include <algorithm>
#include <memory>

namespace belay_mpi {
namespace {

using std::chrono::milliseconds;

constexpr int kHere = 1, kLeaves = 2;
constexpr milliseconds kTick{20};
// At most this much of the time between two looks counts as silence. If this thread waited longer for a processor, a
// sign may have arrived that MPI takes at a later look.
constexpr milliseconds kMostOfALook = 3 * kTick;
// Limit for the last signs of ranks that leave.
constexpr milliseconds kBetweenLeaves{1000};

}  // namespace

Peers::Peers(MPI_Comm ranks, std::chrono::nanoseconds timeout) : ranks_(ranks), timeout_(timeout) {
  int rank = 0, size = 1;
  check(MPI_Comm_rank(ranks_, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(ranks_, &size), "MPI_Comm_size");
  peers_.reserve(static_cast<std::size_t>(size));
  for (int r = 0; r < size; ++r) {
    if (r == rank) continue;
    peers_.push_back({});
    peers_.back().rank = r;
  }
  for (Peer& peer : peers_)
    check(MPI_Irecv(&peer.received, 1, MPI_INT, peer.rank, 0, ranks_, &peer.receiving), "MPI_Irecv");
  if (!peers_.empty()) thread_ = std::thread([this] { watch(); });
}

Peers::~Peers() {
  leave();
  if (given_up()) {  // MPI may still write to open requests
    static std::vector<std::vector<Peer>>* const kept = std::make_unique<std::vector<std::vector<Peer>>>().release();
    kept->push_back(std::move(peers_));
    return;
  }
  for (Peer& peer : peers_) {
    if (peer.receiving == MPI_REQUEST_NULL) continue;
    MPI_Cancel(&peer.receiving);
    MPI_Wait(&peer.receiving, MPI_STATUS_IGNORE);
  }
}

std::string Peers::failure() const {
  const std::lock_guard lock(mutex_);
  return failure_;
}

void Peers::leave() {
  if (over_.exchange(true)) return;
  if (thread_.joinable()) thread_.join();
  if (given_up()) return;
  try {
    for (Peer& peer : peers_) send(peer, kLeaves);
    // Signs are a few bytes, which MPI takes at once. If a rank is stopped, its sign may stay open.
    const Clock::time_point end = Clock::now() + kBetweenLeaves;
    for (Peer& peer : peers_) {
      int sent = 0;
      while (!sent && Clock::now() < end) check(MPI_Test(&peer.sending, &sent, MPI_STATUS_IGNORE), "MPI_Test");
      if (!sent) give_up();
    }
  } catch (const belay::Error&) {  // MPI is given up: the launcher ends the job
  }
}

void Peers::watch() {
  Clock::time_point looked = Clock::now(), next = looked;
  while (!over_ && !given_up()) {
    try {
      const Clock::time_point now = Clock::now();
      const auto since_last_look = std::min<std::chrono::nanoseconds>(now - looked, kMostOfALook);
      looked = now;
      const bool due = now >= next;
      if (due) next = now + timeout_ / 4;
      for (Peer& peer : peers_) {
        look(peer, since_last_look);
        if (due) send(peer, kHere);
      }
    } catch (const belay::Error& e) {
      const std::lock_guard lock(mutex_);
      if (failure_.empty()) failure_ = e.what();
      return;
    }
    std::this_thread::sleep_for(kTick);
  }
}

void Peers::look(Peer& peer, std::chrono::nanoseconds since_last_look) {
  int came = 0;
  check(MPI_Test(&peer.receiving, &came, MPI_STATUS_IGNORE), "MPI_Test");
  const Clock::time_point now = Clock::now();
  peer.silent = came ? std::chrono::nanoseconds(0) : peer.silent + since_last_look;
  if (came && peer.left == Clock::time_point{}) {
    if (peer.received == kLeaves)
      peer.left = now;
    else
      check(MPI_Irecv(&peer.received, 1, MPI_INT, peer.rank, 0, ranks_, &peer.receiving), "MPI_Irecv");
  }
  std::string why;
  if (peer.left != Clock::time_point{} && now - peer.left > kBetweenLeaves)
    why = "rank " + std::to_string(peer.rank) + " has ended or left";
  else if (peer.left == Clock::time_point{} && peer.silent > timeout_)
    why = "rank " + std::to_string(peer.rank) + " shows no sign of life for " +
          std::to_string(std::chrono::duration_cast<std::chrono::seconds>(timeout_).count()) +
          " s (cluster.timeout_secs)";
  if (why.empty()) return;
  const std::lock_guard lock(mutex_);
  if (failure_.empty()) failure_ = why;
}

void Peers::send(Peer& peer, int sign) {
  int sent = 0;
  check(MPI_Test(&peer.sending, &sent, MPI_STATUS_IGNORE), "MPI_Test");
  if (!sent && sign == kHere) return;  // the rank does not read; its last sign is not sent yet
  if (!sent) return give_up();
  peer.sent = sign;
  check(MPI_Isend(&peer.sent, 1, MPI_INT, peer.rank, 0, ranks_, &peer.sending), "MPI_Isend");
}

}  // namespace belay_mpi
