// A cluster of one process, for a run on one machine. To join processes, pass open and the calls on to an engine.
#include <belay/plugin.h>

#include <cstring>

namespace {

using belay::Collective;
using belay::TensorView;

class MyCluster final : public belay::Cluster {
 public:
  static constexpr auto about = belay::about("my_cluster", "A cluster of one process");

  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    if (args.size() > 1)
      belay::fail(belay::Code::kUnavailable, "my_cluster joins no processes, and the launcher has set " +
                                                 std::to_string(args.size()) + " of them");
    return {0, 1, 0, args.generation()};
  }
  void barrier(const Collective&) override {}
  void broadcast(const Collective& call, const TensorView&) override { check_peer(call); }
  void all_reduce(const Collective&, const TensorView&) override {}  // the sum of one
  void all_gather(const Collective&, const TensorView& mine, const TensorView& all) override {
    if (mine.bytes() != all.bytes()) belay::fail(belay::Code::kInvalidArgument, "the tensor for all has another size");
    if (mine.bytes() != 0) std::memcpy(all.mutable_data(), mine.data(), mine.bytes());
  }
  void send(const Collective& call, const TensorView&) override { fail_peer(call); }
  void receive(const Collective& call, const TensorView&) override { fail_peer(call); }
  belay::Subgroup split(const Collective&, int colour) override {
    return colour < 0 ? belay::Subgroup{} : belay::Subgroup{nullptr, 0, 1};
  }

 private:
  static void check_peer(const Collective& call) {
    if (call.peer() != 0) fail_peer(call);
  }
  [[noreturn]] static void fail_peer(const Collective& call) {
    belay::fail(belay::Code::kInvalidArgument, "there is no rank " + std::to_string(call.peer()) + " beside this one");
  }
};

}  // namespace

BELAY_MODULE("0.1.0", MyCluster)
