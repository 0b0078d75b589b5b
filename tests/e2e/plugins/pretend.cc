// SPDX-License-Identifier: Apache-2.0
// A cluster of one process that is told it is one of several: the other ranks have what this one has. Instead of
// sending it sleeps.
#include <belay/plugin.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <string>
#include <thread>

namespace {

using belay::Collective;
using belay::TensorView;

class Pretend final : public belay::Cluster {
 public:
  struct Options {
    double call_us = 0;
    double mib_us = 0;
    std::int64_t fails_at = 0;
  };
  static constexpr auto about =
      belay::about("pretend", "Ranks that are not there, and have what this one has",
                   belay::option("call_us", &Options::call_us, "how long each sum takes").min(0).watching(),
                   belay::option("mib_us", &Options::mib_us, "how much longer for each MiB").min(0).watching(),
                   belay::option("fails_at", &Options::fails_at, "which sum fails, from 1; 0: none").min(0).watching());
  explicit Pretend(const Options& options) : options_(options) {}

  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    size_ = args.size();
    return {args.rank(), args.size(), 0, args.generation()};
  }
  void barrier(const Collective&) override {}
  void broadcast(const Collective&, const TensorView&) override {}
  void all_reduce(const Collective&, const TensorView& tensor) override {
    if (++sums_ == options_.fails_at) belay::fail(belay::Code::kAborted, "rank 1 has ended or left");
    const double us = options_.call_us + options_.mib_us * static_cast<double>(tensor.bytes()) / (1 << 20);
    if (us > 0) std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(us));
    auto* values = static_cast<float*>(tensor.mutable_data());
    for (std::size_t i = 0; i < tensor.size(); ++i) values[i] *= static_cast<float>(size_);
  }
  void all_gather(const Collective&, const TensorView& mine, const TensorView& all) override {
    for (int r = 0; r < size_ && mine.bytes() != 0; ++r)
      std::memcpy(static_cast<char*>(all.mutable_data()) + static_cast<std::size_t>(r) * mine.bytes(), mine.data(),
                  mine.bytes());
  }
  void send(const Collective&, const TensorView&) override {}
  void receive(const Collective&, const TensorView&) override {}
  belay::Subgroup split(const Collective&, int) override {
    belay::fail(belay::Code::kUnimplemented, "these ranks are in one group");
  }

 private:
  const Options options_;
  int size_ = 1;
  std::atomic<std::int64_t> sums_{0};
};

}  // namespace

BELAY_MODULE("1.0.0", Pretend)
