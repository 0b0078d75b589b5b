// SPDX-License-Identifier: Apache-2.0
// Joins processes that an MPI launcher has started, on clusters with fast networks. A rank that dies ends the job. The
// same command continues from the newest checkpoint.
#include <belay/plugin.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "group.h"
#include "library.h"
#include "peers.h"

namespace {

using belay::Code;
using belay::Collective;
using belay::fail;
using belay::TensorView;
using belay_mpi::check;
using belay_mpi::Group;
using belay_mpi::Peers;

class Mpi final : public belay::Cluster {
 public:
  struct Options {
    std::int64_t communicator = 0;
  };
  static constexpr auto about = belay::about(
      BELAY_MPI_PLUGIN,
      "Joins processes that " BELAY_MPI_NAME "'s mpirun or Slurm has started, for clusters with fast networks",
      belay::option(
          "communicator", &Options::communicator,
          "number of the communicator to use, as MPI_Comm_c2f returns it to a program; 0 means MPI_COMM_WORLD")
          .watching());
  explicit Mpi(const Options& options) : communicator_(options.communicator) {}
  ~Mpi() override { leave(); }

  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    if (args.generation() > 0)
      fail(Code::kUnavailable,
           "MPI's ranks cannot form a group again; its launcher ends the job, and the same command continues from the "
           "newest checkpoint");
    belay_mpi::make_ready();
    MPI_Comm world = communicator_ == 0 ? MPI_COMM_WORLD : MPI_Comm_f2c(static_cast<MPI_Fint>(communicator_));
    int rank = 0, size = 1;
    check(MPI_Comm_rank(world, &rank), "MPI_Comm_rank");
    check(MPI_Comm_size(world, &size), "MPI_Comm_size");
    if (args.size() >= 0 && (args.rank() != rank || args.size() != size))
      refuse(place_text(args.rank(), args.size()), place_text(rank, size));
    check_tags();
    aborted_ = false;
    const int local = local_rank(world);
    peers_ = std::make_unique<Peers>(copy_of(world), args.timeout());
    const std::lock_guard lock(mutex_);
    all_ = std::make_unique<Group>(copy_of(world), [this] { check_alive(); });
    return {rank, size, local, 0};
  }
  void close() override { leave(); }
  void abort() override { aborted_ = true; }

  void barrier(const Collective& call) override { of(call).barrier(call); }
  void broadcast(const Collective& call, const TensorView& tensor) override {
    Group& group = of(call);
    check_peer(group, call, false);
    group.broadcast(call, tensor);
  }
  void all_reduce(const Collective& call, const TensorView& tensor) override { of(call).all_reduce(call, tensor); }
  void all_gather(const Collective& call, const TensorView& mine, const TensorView& all) override {
    Group& group = of(call);
    if (all.dtype() != mine.dtype() || all.bytes() != mine.bytes() * static_cast<std::size_t>(group.size()))
      fail(Code::kInvalidArgument, "the tensor for all has " + std::to_string(all.bytes()) + " bytes, not " +
                                       std::to_string(group.size()) + " times the " + std::to_string(mine.bytes()) +
                                       " of each rank's");
    group.all_gather(call, mine, all);
  }
  void send(const Collective& call, const TensorView& tensor) override {
    Group& group = of(call);
    check_peer(group, call, true);
    group.send(call, tensor);
  }
  void receive(const Collective& call, const TensorView& tensor) override {
    Group& group = of(call);
    check_peer(group, call, true);
    group.receive(call, tensor);
  }
  belay::Subgroup split(const Collective& call, int colour) override {
    std::unique_ptr<Group> part = of(call).split(call, colour);
    if (part == nullptr) return {};
    const belay::Subgroup made{reinterpret_cast<belay_ranks*>(part.get()), part->rank(), part->size()};
    const std::lock_guard lock(mutex_);
    parts_.push_back(std::move(part));
    return made;
  }

 private:
  static std::string place_text(int rank, int size) {
    return "rank " + std::to_string(rank) + " of " + std::to_string(size);
  }
  [[noreturn]] void refuse(const std::string& said, const std::string& known) const {
    if (communicator_ != 0)
      fail(Code::kUnavailable, "the program has started " + said + ", which is " + known +
                                   " in the communicator that it has handed in: ManifestRunOptions::place must have "
                                   "the rank and the size that MPI_Comm_rank and MPI_Comm_size return for it");
    fail(Code::kUnavailable,
         "the launcher has started " + said + ", and " BELAY_MPI_NAME " knows this process as " + known +
             ": start it by " BELAY_MPI_NAME "'s mpirun, or name the plugin of the MPI whose mpirun has started it");
  }
  static MPI_Comm copy_of(MPI_Comm ranks) {
    MPI_Comm copy;
    check(MPI_Comm_dup(ranks, &copy), "MPI_Comm_dup");
    check(MPI_Comm_set_errhandler(copy, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    return copy;
  }
  static int local_rank(MPI_Comm world) {
    MPI_Comm machine;
    int rank = 0;
    check(MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine), "MPI_Comm_split_type");
    check(MPI_Comm_rank(machine, &rank), "MPI_Comm_rank");
    check(MPI_Comm_free(&machine), "MPI_Comm_free");
    return rank;
  }
  // One of our tags takes two of MPI's.
  static void check_tags() {
    int* highest = nullptr;
    int known = 0;
    check(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &highest, &known), "MPI_Comm_get_attr");
    if (known && *highest < 2 * BELAY_CLUSTER_TAGS)
      fail(Code::kFailedPrecondition, BELAY_MPI_NAME "'s tags end at " + std::to_string(*highest) + " here; " +
                                          std::to_string(2 * BELAY_CLUSTER_TAGS) + " are needed");
  }

  void leave() {
    if (peers_ != nullptr) peers_->leave();
    {
      const std::lock_guard lock(mutex_);
      parts_.clear();
      all_.reset();
    }
    peers_.reset();
  }

  void check_alive() const {
    if (aborted_) fail(Code::kCancelled, "the run was stopped while it waited for other ranks");
    if (std::string who = peers_->failure(); !who.empty()) fail(Code::kAborted, who);
    if (belay_mpi::given_up()) fail(Code::kAborted, "an earlier call with other ranks was left open");
  }
  Group& of(const Collective& call) const {
    Group* group = call.ranks() != nullptr ? reinterpret_cast<Group*>(call.ranks()) : all_.get();
    if (group == nullptr) fail(Code::kFailedPrecondition, "the cluster is not open");
    check_alive();
    return *group;
  }
  static void check_peer(const Group& group, const Collective& call, bool other) {
    if (call.peer() < 0 || call.peer() >= group.size() || (other && call.peer() == group.rank()))
      fail(Code::kInvalidArgument, "there is no " + std::string(other ? "other " : "") + "rank " +
                                       std::to_string(call.peer()) + " in a group of " + std::to_string(group.size()));
  }

  const std::int64_t communicator_;
  std::atomic<bool> aborted_{false};
  std::unique_ptr<Peers> peers_;
  std::mutex mutex_;  // guards the groups
  std::unique_ptr<Group> all_;
  std::vector<std::unique_ptr<Group>> parts_;
};

}  // namespace

BELAY_MODULE("1.0.0", Mpi)
