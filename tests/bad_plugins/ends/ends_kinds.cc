// SPDX-License-Identifier: Apache-2.0
// An optimizer, a schedule, an exporter and a cluster, which end their process where and how they are told, and a hook
// that makes the calls of a cluster that the host makes for hooks alone.
#include <belay/ops/training.h>
#include <belay/plugin.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "endings.h"

namespace {

namespace ops = belay::ops;
using belay::Collective;
using belay::OptimizerContext;
using belay::Output;
using belay::TensorView;

class EndsOptimizer final : public belay::Optimizer {
 public:
  static constexpr auto about = belay::about("ends_optimizer", "Ends the process where it is told");
  EndsOptimizer() { ends("optimizer.create"); }
  ~EndsOptimizer() override { ends("optimizer.destroy"); }
  void create_slots(const OptimizerContext&) override { ends("optimizer.create_slots"); }
  void prepare(const OptimizerContext&) override { ends("optimizer.prepare"); }
  Output apply(const OptimizerContext& o, const belay::Update& u) override {
    ends("optimizer.apply");
    return ops::apply_gradient_descent(u.variable, o.learning_rate(), u.gradient, u.name);
  }
  std::vector<Output> finish(const OptimizerContext&, const std::vector<Output>&) override {
    ends("optimizer.finish");
    return {};
  }
};

class EndsSchedule final : public belay::Schedule {
 public:
  static constexpr auto about = belay::about("ends_schedule", "Ends the process where it is told");
  EndsSchedule() { ends("schedule.create"); }
  ~EndsSchedule() override { ends("schedule.destroy"); }
  Output build(const belay::ScheduleContext& s) override {
    ends("schedule.build");
    return s.scalar(s.learning_rate());
  }
};

class EndsExporter final : public belay::Exporter {
 public:
  static constexpr auto about = belay::about("ends_exporter", "Ends the process where it is told");
  EndsExporter() { ends("exporter.create"); }
  ~EndsExporter() override { ends("exporter.destroy"); }
  void write(const belay::ExportContext&, belay::Directory& directory) override {
    belay::File file = directory.create("nothing");
    file.write("-", 1);
    ends("exporter.write");
    file.close();
  }
  void check(const belay::ExportContext&, const belay::Directory&) override { ends("exporter.check"); }
};

// The only process of two: the other has what this one has.
class EndsCluster final : public belay::Cluster {
 public:
  static constexpr auto about = belay::about("ends_cluster", "Ends the process where it is told");
  EndsCluster() { ends("cluster.create"); }
  ~EndsCluster() override { ends("cluster.destroy"); }
  belay::ClusterPlace open(const belay::ClusterArgs& args) override {
    ends("cluster.open");
    return {args.rank(), args.size(), 0, args.generation()};
  }
  void close() override { ends("cluster.close"); }
  void barrier(const Collective&) override { ends("cluster.barrier"); }
  void broadcast(const Collective&, const TensorView&) override { ends("cluster.broadcast"); }
  void all_reduce(const Collective&, const TensorView& tensor) override {
    ends("cluster.all_reduce");
    auto* values = static_cast<float*>(tensor.mutable_data());
    for (std::size_t i = 0; i < tensor.size(); ++i) values[i] *= 2;
  }
  void all_gather(const Collective&, const TensorView& mine, const TensorView& all) override {
    ends("cluster.all_gather");
    if (mine.bytes() == 0) return;
    std::memcpy(all.mutable_data(), mine.data(), mine.bytes());
    std::memcpy(static_cast<char*>(all.mutable_data()) + mine.bytes(), mine.data(), mine.bytes());
  }
  void send(const Collective&, const TensorView&) override { ends("cluster.send"); }
  void receive(const Collective&, const TensorView&) override { ends("cluster.receive"); }
  belay::Subgroup split(const Collective&, int) override {
    ends("cluster.split");
    return {reinterpret_cast<belay_ranks*>(this), 0, 2};
  }
};

class CallsRanks final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("calls_ranks", "Calls the other ranks before the first step");
  void after_create_session(belay::Session&) override {
    const belay::Ranks ranks(host());
    belay::Tensor number(std::int64_t{1});
    ranks.barrier();
    ranks.send(number, 1);
    ranks.receive(number, 1);
  }
};

}  // namespace

BELAY_MODULE("1.0.0", EndsOptimizer, EndsSchedule, EndsExporter, EndsCluster, CallsRanks)
