// SPDX-License-Identifier: Apache-2.0
// Joins processes, on one machine or several, by Gloo over TCP. Lifelines notice the ranks that fail; Gloo moves the
// tensors.
#include <belay/plugin.h>
#include <gloo/transport/tcp/device.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "folder_board.h"
#include "group.h"
#include "interface_address.h"
#include "lifelines.h"
#include "redis_board.h"

namespace {

using belay::Code;
using belay::Collective;
using belay::fail;
using belay::TensorView;
using belay_gloo::Board;
using belay_gloo::FolderBoard;
using belay_gloo::Group;
using belay_gloo::Lifelines;
using belay_gloo::Meeting;
using belay_gloo::RedisBoard;
using belay_gloo::Waits;

constexpr int kMostNumbers = 1 << 16;  // numbers of groups: a tag of Gloo has 32 bits, a tag of Belay has 16

// Gloo writes into connections whose other end may be gone. That is an error of the call and must not end the process.
// Threads that are started inside inherit the block of SIGPIPE.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() noexcept {
    ::sigemptyset(&pipe_);
    ::sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    ::sigpending(&pending);
    was_pending_ = ::sigismember(&pending, SIGPIPE) == 1;
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec now{};
    while (!was_pending_ && ::sigtimedwait(&pipe_, nullptr, &now) == SIGPIPE) {
    }
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  sigset_t pipe_, before_;
  bool was_pending_ = false;
};

class Gloo final : public belay::Cluster {
 public:
  struct Options {
    belay::Str interface = "lo";
    belay::Str rendezvous = "";
  };
  static constexpr auto about = belay::about(
      "gloo", "Joins processes by TCP without encryption, for networks whose machines are all trusted",
      belay::option("interface", &Options::interface, "name of the network interface to bind to").watching(),
      belay::option("rendezvous", &Options::rendezvous,
                    "address of the Redis server where the ranks meet, as redis://HOST:PORT/JOB; if empty, they meet "
                    "in the run's directory")
          .watching());
  explicit Gloo(const Options& options) : interface_(options.interface) {
    if (!options.rendezvous.string().empty()) redis_ = belay_gloo::redis_address(options.rendezvous.string());
  }
  ~Gloo() override { leave(); }

  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    const int size = std::max(args.size(), 1), rank = std::max(args.rank(), 0);
    if (rank >= size)
      fail(Code::kInvalidArgument,
           "rank " + std::to_string(rank) + " is not below the number of ranks, " + std::to_string(size));
    aborted_ = false;
    next_number_ = 1;
    if (size > 1) {
      join(args, rank, size);
    } else {
      use(std::make_unique<Group>());
    }
    return {rank, size, args.local_rank() >= 0 ? args.local_rank() : 0, args.generation()};
  }
  void close() override { leave(); }
  void abort() override {
    aborted_ = true;
    end_calls();
  }

  void barrier(const Collective& call) override {
    in(call, [&](Group& g) { g.barrier(call); });
  }
  void broadcast(const Collective& call, const TensorView& tensor) override {
    in(call, [&](Group& g) {
      check_peer(g, call, false);
      g.broadcast(call, tensor);
    });
  }
  void all_reduce(const Collective& call, const TensorView& tensor) override {
    in(call, [&](Group& g) { g.all_reduce(call, tensor); });
  }
  void all_gather(const Collective& call, const TensorView& mine, const TensorView& all) override {
    in(call, [&](Group& g) {
      if (all.dtype() != mine.dtype() || all.bytes() != mine.bytes() * static_cast<std::size_t>(g.size()))
        fail(Code::kInvalidArgument, "the tensor for all has " + std::to_string(all.bytes()) + " bytes, not " +
                                         std::to_string(g.size()) + " times the " + std::to_string(mine.bytes()) +
                                         " of each rank's");
      g.all_gather(call, mine.data(), mine.bytes(), all.mutable_data());
    });
  }
  void send(const Collective& call, const TensorView& tensor) override {
    in(call, [&](Group& g) {
      check_peer(g, call, true);
      g.send(call, tensor);
    });
  }
  void receive(const Collective& call, const TensorView& tensor) override {
    in(call, [&](Group& g) {
      check_peer(g, call, true);
      g.receive(call, tensor);
    });
  }
  // The ranks of a group agree on the greatest of their next numbers. It is new to all of them.
  belay::Subgroup split(const Collective& call, int colour) override {
    belay::Subgroup made;
    in(call, [&](Group& g) {
      const int mine[] = {colour, next_number_};
      std::vector<int> all(2 * static_cast<std::size_t>(g.size()));
      g.all_gather(call, mine, sizeof(mine), all.data());
      int number = 0, rank = 0;
      std::vector<int> ranks;
      for (int r = 0; r < g.size(); ++r) {
        const std::size_t at = 2 * static_cast<std::size_t>(r);
        number = std::max(number, all[at + 1]);
        if (all[at] != colour) continue;
        if (r == g.rank()) rank = static_cast<int>(ranks.size());
        ranks.push_back(g.ranks()[static_cast<std::size_t>(r)]);
      }
      if (number >= kMostNumbers) fail(Code::kResourceExhausted, "there were too many splits in this generation");
      next_number_ = number + 1;
      if (colour < 0) return;
      auto part = std::make_unique<Group>(rank, std::move(ranks), number, *all_);
      made = {reinterpret_cast<belay_ranks*>(part.get()), part->rank(), part->size()};
      const std::lock_guard lock(mutex_);
      parts_.push_back(std::move(part));
    });
    return made;
  }

 private:
  // If a rank does not know the meeting, it may have found an old one, whose rank 0 was killed. Then it looks for the
  // next one.
  void join(const belay::ClusterArgs& args, int rank, int size) {
    const NoBrokenPipeSignal quiet;
    const auto end = std::chrono::steady_clock::now() + args.wait();
    for (;;) {
      const std::chrono::nanoseconds left = end - std::chrono::steady_clock::now();
      std::unique_ptr<Board> board;
      RedisBoard* redis = nullptr;
      if (redis_) {
        auto made = std::make_unique<RedisBoard>(
            RedisBoard::Options{*redis_, job_of(args), std::string(args.meeting()), rank, size, left, stopping()});
        redis = made.get();
        board = std::move(made);
      } else {
        if (args.directory().empty())
          fail(Code::kInvalidArgument, "gloo needs a directory that all ranks see, to meet in; the run has none");
        // No other meeting uses this folder.
        board =
            std::make_unique<FolderBoard>(std::string(args.directory()) + "/" + std::string(args.meeting()), rank == 0);
      }
      try {
        meet(*board, args, rank, size, left);
        if (redis == nullptr) board_ = std::move(board);
        return;
      } catch (const belay::Error&) {
        leave();
        if (redis == nullptr || aborted_ || host().stopping() || !redis->is_over()) throw;
      }
    }
  }
  std::string job_of(const belay::ClusterArgs& args) const {
    return redis_->job.empty() ? std::string(args.directory()) : redis_->job;
  }
  std::function<bool()> stopping() {
    return [this] { return aborted_ || host().stopping(); };
  }
  void meet(Board& board, const belay::ClusterArgs& args, int rank, int size, std::chrono::nanoseconds wait) {
    const auto waits = std::make_shared<Waits>();
    {
      const std::lock_guard lock(mutex_);
      waits_ = waits;
    }
    lines_ = std::make_unique<Lifelines>(
        Lifelines::Options{rank, size, interface_, &board, wait, args.timeout(), stopping()}, [this] { end_calls(); });
    guarded([&] {
      gloo::transport::tcp::attr attr;
      attr.iface = interface_;
      attr.ai_family = belay_gloo::address_of(interface_).raw.ss_family;
      device_ = gloo::transport::tcp::CreateDevice(attr);
      const auto check = [this, &board] {
        if (aborted_ || host().stopping())
          fail(Code::kCancelled, "the run was stopped while other ranks were waited for");
        if (const std::string who = lines_->failure(); !who.empty()) fail(Code::kAborted, who);
        board.look();
      };
      const auto limit = std::chrono::ceil<std::chrono::milliseconds>(std::min(args.wait(), args.timeout()));
      use(std::make_unique<Group>(rank, size, Meeting{board, check, limit}, device_, waits));
    });
    if (!redis_) return;
    // All ranks have read the board, so it is no longer needed.
    const belay_collective call = belay::detail::sized<belay_collective>();
    barrier(Collective(call));
    board.forget();
  }
  void use(std::unique_ptr<Group> all) {
    const std::lock_guard lock(mutex_);
    all_ = std::move(all);
  }
  void leave() {
    const NoBrokenPipeSignal quiet;
    if (lines_ != nullptr) lines_->leave();
    {
      const std::lock_guard lock(mutex_);
      parts_.clear();
      all_.reset();
      waits_.reset();
    }
    lines_.reset();
    device_.reset();
    board_.reset();
  }
  void end_calls() {
    const std::lock_guard lock(mutex_);
    if (waits_ != nullptr) waits_->end();
  }

  // Turns an exception of Gloo into the error of the rank that is to blame.
  template <class F>
  void guarded(F&& f) {
    const NoBrokenPipeSignal quiet;
    try {
      f();
    } catch (const belay::Error&) {
      throw;
    } catch (const std::exception& e) {
      if (aborted_) fail(Code::kCancelled, "the run was stopped while it waited for other ranks");
      // A connection may break before the lifelines know whose it was.
      constexpr std::chrono::milliseconds kUntilKnown{1000};
      const std::string who = lines_ == nullptr ? "" : lines_->failure(kUntilKnown);
      fail(Code::kAborted, who.empty() ? std::string("a rank did not call in time: ") + e.what() : who);
    }
  }
  template <class F>
  void in(const Collective& call, F&& f) {
    Group* group = call.ranks() != nullptr ? reinterpret_cast<Group*>(call.ranks()) : all_.get();
    if (group == nullptr) fail(Code::kFailedPrecondition, "the cluster is not open");
    if (aborted_) fail(Code::kCancelled, "the run was stopped while it waited for other ranks");
    if (lines_ != nullptr)
      if (const std::string who = lines_->failure(); !who.empty()) fail(Code::kAborted, who);
    guarded([&] { f(*group); });
  }
  static void check_peer(const Group& group, const Collective& call, bool other) {
    if (call.peer() < 0 || call.peer() >= group.size() || (other && call.peer() == group.rank()))
      fail(Code::kInvalidArgument, "there is no " + std::string(other ? "other " : "") + "rank " +
                                       std::to_string(call.peer()) + " in a group of " + std::to_string(group.size()));
  }

  const std::string interface_;
  std::optional<belay_gloo::RedisAddress> redis_;  // none: they meet in a folder
  std::unique_ptr<Board> board_;                   // the folder
  std::atomic<int> next_number_{1};
  std::atomic<bool> aborted_{false};
  std::shared_ptr<gloo::transport::Device> device_;
  std::mutex mutex_;              // guards the groups
  std::shared_ptr<Waits> waits_;  // shared by all groups; null: there is no other rank
  std::unique_ptr<Group> all_;
  std::vector<std::unique_ptr<Group>> parts_;
  std::unique_ptr<Lifelines> lines_;
};

}  // namespace

BELAY_MODULE("1.0.0", Gloo)
