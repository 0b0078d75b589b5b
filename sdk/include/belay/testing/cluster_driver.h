// SPDX-License-Identifier: Apache-2.0
// Drives a cluster plugin: several ranks in one process. Each rank is an instance on its own thread, with a fake host.
//
//   extern "C" const belay_module belay_module_my_cluster;
//   ClusterDriver cluster(belay_module_my_cluster, 3);
//   const auto errors = cluster.run([](ClusterRank& rank) {
//     rank.open();
//     Tensor sum(Dims{2}, {1.f, 2.f});
//     rank.all_reduce(sum);
//     rank.close();
//   });
//   EXPECT_EQ(errors, (std::vector<std::string>{"", "", ""}));
//
// The ranks meet in a directory of the driver. Drive a plugin whose library counts processes (MPI) with one rank, or
// under its launcher.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "belay/cluster.h"
#include "belay/testing/driver_setup.h"
#include "belay/testing/fake_host.h"
#include "belay/testing/option_values.h"
#include "belay/testing/plugin_library.h"
#include "belay/testing/temporary_folder.h"

namespace belay {
inline namespace v0 {
namespace testing {

// The options of a call. The defaults are all ranks, tag 0 and no limit.
struct ClusterCall {
  belay_ranks* ranks = nullptr;
  std::uint32_t tag = 0;
  int peer = 0;
  DType wire = DType::kInvalid;
  double timeout_secs = 0;
};

// One rank, on its thread. Calls throw the errors that the plugin reports.
class ClusterRank {
 public:
  ClusterRank(const belay_cluster_api* table, const OptionValues& options, int rank, int size, std::string directory)
      : rank_(rank), size_(size), directory_(std::move(directory)) {
    host_.rank = rank, host_.ranks = size;
    host_.run_directory = directory_;
    api_ = belay::detail::adopt(table);
    if (table->struct_size < offsetof(belay_cluster_api, close) + sizeof(table->close) || table->close == nullptr)
      api_.close = [](void*, belay_status*) -> std::int32_t { return BELAY_OK; };
    handle_ = options.create(host_, &api_);
  }
  ClusterRank(const ClusterRank&) = delete;
  ClusterRank& operator=(const ClusterRank&) = delete;

  FakeHost& host() noexcept { return host_; }
  int rank() const noexcept { return rank_; }
  int size() const noexcept { return size_; }

  // Set how long open waits for the other ranks, and how long a rank may show no sign of life.
  void wait(double seconds) noexcept { wait_secs_ = seconds; }
  void timeout(double seconds) noexcept { timeout_secs_ = seconds; }
  ClusterPlace open(std::int64_t generation = 0, const std::string& meeting = "attempt-1") {
    const std::string name = meeting + "-" + std::to_string(generation);
    auto args = detail::sized<belay_cluster_args>();
    args.rank = rank_, args.size = args.min_size = size_;
    args.local_rank = -1;
    args.generation = generation;
    args.wait_ns = nanoseconds(wait_secs_);
    args.timeout_ns = nanoseconds(timeout_secs_);
    args.directory = detail::str(directory_);
    args.meeting = detail::str(name);
    auto place = detail::sized<belay_cluster_place>();
    detail::Status status;
    status.check(api_.open(self(), &args, &place, status));
    detail::check_sized(place);
    return {place.rank, place.size, place.local_rank, place.generation};
  }
  void close() {
    detail::Status status;
    status.check(api_.close(self(), status));
  }
  void abort() { api_.abort(self()); }

  void barrier(const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.barrier(self(), &c, status));
  }
  void broadcast(const TensorView& tensor, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.broadcast(self(), &c, &tensor.raw(), status));
  }
  void all_reduce(const TensorView& tensor, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.all_reduce(self(), &c, &tensor.raw(), status));
  }
  void all_gather(const TensorView& mine, const TensorView& all, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.all_gather(self(), &c, &mine.raw(), &all.raw(), status));
  }
  void send(const TensorView& tensor, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.send(self(), &c, &tensor.raw(), status));
  }
  void receive(const TensorView& tensor, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    detail::Status status;
    status.check(api_.receive(self(), &c, &tensor.raw(), status));
  }
  Subgroup split(int colour, const ClusterCall& call = {}) {
    const belay_collective c = raw(call);
    std::int32_t rank = -1, size = 0;
    belay_ranks* ranks = nullptr;
    detail::Status status;
    status.check(api_.split(self(), &c, colour, &ranks, &rank, &size, status));
    return {ranks, rank, size};
  }

 private:
  void* self() const noexcept { return handle_.self(); }
  static std::int64_t nanoseconds(double seconds) { return static_cast<std::int64_t>(seconds * 1e9); }
  static belay_collective raw(const ClusterCall& call) {
    auto c = detail::sized<belay_collective>();
    c.ranks = call.ranks;
    c.tag = call.tag;
    c.peer = call.peer;
    c.wire_dtype = static_cast<std::int32_t>(call.wire);
    c.timeout_ns = nanoseconds(call.timeout_secs);
    return c;
  }

  const int rank_, size_;
  const std::string directory_;
  double wait_secs_ = 60, timeout_secs_ = 60;
  FakeHost host_;
  belay_cluster_api api_{};
  ClusterHandle handle_;
};

class ClusterDriver {
 public:
  explicit ClusterDriver(const belay_module& module, int size, OptionValues options = {}, const DriverSetup& setup = {})
      : ClusterDriver(find_table<belay_cluster_api>(module, setup.plugin), size, std::move(options)) {}
  ClusterDriver(const belay_cluster_api* table, int size, OptionValues options = {})
      : table_(table), options_(std::move(options)), size_(size) {}

  // The meeting place of the ranks.
  const std::string& directory() const noexcept { return directory_; }

  // Calls `f` for each rank, all at the same time. Returns the error of each rank: "" or "ABORTED: rank 1 ...".
  std::vector<std::string> run(const std::function<void(ClusterRank&)>& f) {
    std::vector<std::string> errors(static_cast<std::size_t>(size_));
    std::vector<std::thread> threads;
    for (int r = 0; r < size_; ++r)
      threads.emplace_back([&, r] {
        try {
          ClusterRank rank(table_, options_, r, size_, directory_);
          f(rank);
        } catch (const Error& e) {
          errors[static_cast<std::size_t>(r)] = std::string(code_name(e.code())) + ": " + e.what();
        } catch (const std::exception& e) {
          errors[static_cast<std::size_t>(r)] = e.what();
        }
      });
    for (std::thread& t : threads) t.join();
    return errors;
  }

 private:
  const belay_cluster_api* table_;
  const OptionValues options_;
  const int size_;
  const TemporaryFolder folder_;
  const std::string directory_ = folder_.path();
};

}  // namespace testing
}  // namespace v0
}  // namespace belay
