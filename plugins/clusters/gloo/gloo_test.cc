// SPDX-License-Identifier: Apache-2.0
#include <belay/testing/testing.h>
#include <gloo/transport/address.h>
#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "folder_board.h"
#include "interface_address.h"
#include "lifelines.h"

extern "C" const belay_module belay_module_gloo;

namespace gloo_test {

using namespace belay::testing;
using belay::Dims;
using belay::DType;
using belay::Tensor;

constexpr unsigned kHangSecs = 120;  // a process that still runs then hangs

const belay_module& module() { return module_under_test(belay_module_gloo); }

std::vector<std::string> none(int ranks) { return std::vector<std::string>(static_cast<std::size_t>(ranks)); }

TEST(Gloo, AProcessByItselfIsAGroupOfOne) {
  ClusterDriver cluster(module(), 1);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    EXPECT_EQ(rank.open().size, 1);
    Tensor sum(2.5F);
    rank.all_reduce(sum);
    EXPECT_EQ(sum.data<float>()[0], 2.5F);
    rank.close();
  }),
            none(1));
}

TEST(Gloo, TheSumHasTheSameBitsOnAllRanksAndInEachRun) {
  constexpr std::int64_t kElements = 70001;
  std::vector<std::vector<float>> sums(6, std::vector<float>(kElements));
  for (int round = 0; round < 2; ++round) {
    ClusterDriver cluster(module(), 3);
    EXPECT_EQ(cluster.run([&](ClusterRank& rank) {
      rank.open(round);
      Tensor sum(DType::kFloat32, {kElements});
      for (std::int64_t i = 0; i < kElements; ++i)
        sum.data<float>()[i] = 1.0F / static_cast<float>(1 + i + 7 * rank.rank());
      rank.all_reduce(sum);
      std::memcpy(sums[static_cast<std::size_t>(3 * round + rank.rank())].data(), sum.data<float>(), kElements * 4);
      rank.barrier();
      rank.close();
    }),
              none(3));
  }
  for (const std::vector<float>& sum : sums) EXPECT_EQ(std::memcmp(sum.data(), sums[0].data(), kElements * 4), 0);
  EXPECT_FLOAT_EQ(sums[0][0], 1.0F + 1.0F / 8 + 1.0F / 15);
}

TEST(Gloo, EachCallMovesWhatItShould) {
  ClusterDriver cluster(module(), 3);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    Tensor from(std::int32_t{rank.rank()});
    rank.broadcast(from, {.peer = 2});
    EXPECT_EQ(from.data<std::int32_t>()[0], 2);
    const Tensor mine(std::int32_t{rank.rank() * 10});
    Tensor all(DType::kInt32, {3});
    rank.all_gather(mine, all);
    EXPECT_EQ(all.data<std::int32_t>()[0], 0);
    EXPECT_EQ(all.data<std::int32_t>()[2], 20);
    Tensor sum(std::int64_t{1} << 40);
    rank.all_reduce(sum);
    EXPECT_EQ(sum.data<std::int64_t>()[0], 3 * (std::int64_t{1} << 40));
    Tensor rough(1.0F + 0x1p-8F);  // a tie; it is rounded to the even 1
    rank.all_reduce(rough, {.wire = DType::kBFloat16});
    EXPECT_EQ(rough.data<float>()[0], 3.0F);
    Tensor message(std::int64_t{rank.rank()});
    if (rank.rank() == 0) rank.send(message, {.tag = 3, .peer = 2});
    if (rank.rank() == 2) rank.receive(message, {.tag = 3, .peer = 0});
    EXPECT_EQ(message.data<std::int64_t>()[0], rank.rank() == 1 ? 1 : 0);
    rank.barrier();
    rank.close();
  }),
            none(3));
}

TEST(Gloo, CallsOfTwoTagsMeetInAnyOrder) {
  ClusterDriver cluster(module(), 2);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    Tensor a(std::int64_t{1}), b(std::int64_t{10});
    const bool zero = rank.rank() == 0;
    std::thread first([&] { rank.all_reduce(zero ? a : b, {.tag = zero ? 1U : 2U}); });
    rank.all_reduce(zero ? b : a, {.tag = zero ? 2U : 1U});
    first.join();
    EXPECT_EQ(a.data<std::int64_t>()[0], 2);
    EXPECT_EQ(b.data<std::int64_t>()[0], 20);
    rank.barrier();
    rank.close();
  }),
            none(2));
}

TEST(Gloo, GroupsByColourAreInTheOrderOfTheirRanks) {
  ClusterDriver cluster(module(), 4);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    rank.open();
    const belay::Subgroup half = rank.split(rank.rank() % 2);
    EXPECT_EQ(half.rank, rank.rank() / 2);
    EXPECT_EQ(half.size, 2);
    Tensor from(std::int32_t{rank.rank()});
    rank.broadcast(from, {.ranks = half.ranks, .peer = 1});
    EXPECT_EQ(from.data<std::int32_t>()[0], rank.rank() % 2 + 2);
    EXPECT_EQ(rank.split(rank.rank() == 3 ? -1 : 0).size, rank.rank() == 3 ? 0 : 3);
    rank.barrier();
    rank.close();
  }),
            none(4));
}

TEST(Gloo, TheNextGenerationMeetsInTheSameProcess) {
  ClusterDriver cluster(module(), 2);
  EXPECT_EQ(cluster.run([](ClusterRank& rank) {
    for (int generation = 0; generation < 3; ++generation) {
      EXPECT_EQ(rank.open(generation).generation, generation);
      rank.barrier();
      rank.close();
    }
  }),
            none(2));
}

TEST(Gloo, ARankThatLeavesIsNamed) {
  ClusterDriver cluster(module(), 2);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    rank.open();
    if (rank.rank() == 1) return rank.close();
    rank.barrier();
  });
  EXPECT_EQ(errors[0], "ABORTED: rank 1 has ended or left");
  EXPECT_EQ(errors[1], "");
}

TEST(Gloo, ARankThatDoesNotComeIsNamed) {
  ClusterDriver cluster(module(), 3);
  const std::vector<std::string> errors = cluster.run([](ClusterRank& rank) {
    if (rank.rank() == 1) return;
    rank.wait(0.1);
    rank.open();
  });
  EXPECT_EQ(errors[2], "UNAVAILABLE: rank 1 of 3 did not come");
}

TEST(Gloo, AbortWakesARankThatWaits) {
  ClusterDriver cluster(module(), 2);
  std::atomic<bool> aborted{false};
  const std::vector<std::string> errors = cluster.run([&](ClusterRank& rank) {
    rank.open();
    if (rank.rank() == 1) {
      while (!aborted) std::this_thread::yield();
      return;
    }
    std::thread other([&] { rank.abort(); });
    try {
      rank.barrier();
    } catch (...) {
      other.join();
      aborted = true;
      throw;
    }
  });
  EXPECT_EQ(errors[0], "CANCELLED: the run was stopped while it waited for other ranks");
}

TEST(Gloo, AnUnknownInterfaceIsNamedWithThoseThatThereAre) {
  ClusterDriver cluster(module(), 2, {{"interface", "nowhere0"}});
  for (const std::string& error : cluster.run([](ClusterRank& rank) { rank.open(); }))
    EXPECT_THAT(error, testing::MatchesRegex(
                           "INVALID_ARGUMENT: interface = \"nowhere0\" is no network interface .* has .*lo.*"));
}

// Rank 1 has met rank 0 and is gone before it calls.
TEST(Gloo, ARankThatEndsBeforeItsConnectionsAreMadeIsNamed) {
  const TemporaryFolder folder;
  ClusterRank rank(find_table<belay_cluster_api>(module(), "gloo"), {}, 0, 2, folder.path());
  constexpr double kHourSecs = 3600;  // after this time it would be noticed anyway
  rank.wait(kHourSecs);
  rank.timeout(kHourSecs);
  std::string error;
  std::thread opens([&] {
    try {
      rank.open();
    } catch (const belay::Error& e) {
      error = std::string(code_name(e.code())) + ": " + e.what();
    }
  });
  std::string meeting;
  while (meeting.empty())
    for (const auto& entry : std::filesystem::directory_iterator(folder.path()))
      if (entry.is_directory()) meeting = entry.path();
  belay_gloo::FolderBoard board(meeting, false);
  {
    const std::chrono::seconds long_enough(kHangSecs);
    belay_gloo::Lifelines lines({1, 2, "lo", &board, long_enough, long_enough, nullptr}, [] {});
    while (board.get("gloo-0").empty()) std::this_thread::yield();
    // With two ranks, the one with the lower address waits in Gloo for the other's call. That is rank 0, at 127.0.0.1.
    const auto device = gloo::transport::tcp::CreateDevice(gloo::transport::tcp::attr("127.0.0.2"));
    const auto pairs = device->createContext(1, 2);
    pairs->setTimeout(long_enough);
    const std::vector<char> address = pairs->createPair(0)->address().bytes();
    board.put("gloo-1", std::string(address.begin(), address.end()));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));  // makes it likely that rank 0 is in this wait
  }
  opens.join();
  EXPECT_EQ(error, "ABORTED: rank 1 has ended or left");
}

// ---- who may connect while ranks meet

// Rank 0 of two. It meets on a separate thread.
class RankZero {
 public:
  explicit RankZero(const std::string& folder, std::chrono::nanoseconds wait = std::chrono::seconds(kHangSecs))
      : board_(folder, false), thread_([this, wait] {
          try {
            const std::chrono::seconds timeout(kHangSecs);
            lines_.emplace(belay_gloo::Lifelines::Options{0, 2, "lo", &board_, wait, timeout, nullptr}, [] {});
          } catch (const belay::Error& e) {
            error_ = std::string(code_name(e.code())) + ": " + e.what();
          }
        }) {}
  ~RankZero() {
    if (thread_.joinable()) thread_.join();
  }
  RankZero(const RankZero&) = delete;
  RankZero& operator=(const RankZero&) = delete;

  // Returns the error of open. Empty: it met rank 1.
  std::string met() {
    thread_.join();
    return error_;
  }

 private:
  belay_gloo::FolderBoard board_;
  std::optional<belay_gloo::Lifelines> lines_;
  std::string error_;
  std::thread thread_;
};

// Connects a stranger to the port of rank 0.
belay_gloo::Descriptor stranger_at(belay_gloo::Board& board) {
  std::string text;
  while ((text = board.get("rank-0")).empty()) std::this_thread::yield();
  const belay_gloo::Address address = belay_gloo::from_text(text);
  belay_gloo::Descriptor line(::socket(address.raw.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
  EXPECT_EQ(::connect(line.get(), reinterpret_cast<const sockaddr*>(&address.raw), address.size), 0);
  return line;
}

belay_gloo::Lifelines::Options rank_one(belay_gloo::Board& board) {
  const std::chrono::seconds long_enough(kHangSecs);
  return {1, 2, "lo", &board, long_enough, long_enough, nullptr};
}

// A board that returns another token than the one of rank 0.
class OtherToken final : public belay_gloo::Board {
 public:
  explicit OtherToken(belay_gloo::Board& board) : board_(board) {}
  void put(const std::string& name, const std::string& value) override { board_.put(name, value); }
  std::string get(const std::string& name) override {
    std::string text = board_.get(name);
    if (!text.empty()) text.back() = text.back() == '0' ? '1' : '0';
    return text;
  }

 private:
  belay_gloo::Board& board_;
};

// If rank 0 read the connections one by one, it would need more time than it has for rank 1.
TEST(Gloo, T_163_SilentConnectionsKeepNoRankWaiting) {
  const TemporaryFolder folder;
  RankZero zero(folder.path());
  belay_gloo::FolderBoard board(folder.path(), false);
  std::vector<belay_gloo::Descriptor> strangers;
  for (int i = 0; i < 100; ++i) strangers.push_back(stranger_at(board));
  const belay_gloo::Lifelines one(rank_one(board), [] {});
  EXPECT_EQ(zero.met(), "");
  EXPECT_EQ(one.failure(), "");
}

TEST(Gloo, T_163_AFalseHelloTakesNoRanksSeat) {
  const TemporaryFolder folder;
  RankZero zero(folder.path());
  belay_gloo::FolderBoard board(folder.path(), false);
  const belay_gloo::Descriptor eight_bytes = stranger_at(board), without_token = stranger_at(board);
  std::int32_t hello[10] = {1, 1};  // "I am there", and the rank
  ASSERT_EQ(::send(eight_bytes.get(), hello, 8, 0), 8);
  ASSERT_EQ(::send(without_token.get(), hello, sizeof(hello), 0), static_cast<ssize_t>(sizeof(hello)));
  const belay_gloo::Lifelines one(rank_one(board), [] {});
  EXPECT_EQ(zero.met(), "");
  EXPECT_EQ(one.failure(), "");
  char sign_of_life = 0;
  EXPECT_LE(::recv(eight_bytes.get(), &sign_of_life, 1, 0), 0) << "it is a peer";
}

TEST(Gloo, T_163_ARankWithAnotherTokenIsRefusedByName) {
  const TemporaryFolder folder;
  RankZero zero(folder.path());
  belay_gloo::FolderBoard board(folder.path(), false);
  OtherToken other(board);
  std::string refused;
  try {
    const belay_gloo::Lifelines one(rank_one(other), [] {});
  } catch (const belay::Error& e) {
    refused = std::string(code_name(e.code())) + ": " + e.what();
  }
  EXPECT_THAT(refused, testing::StartsWith("ABORTED: rank 0 refused rank 1, which does not have the token that rank 0 "
                                           "left at the ranks' meeting place"));
  const belay_gloo::Lifelines one(rank_one(board), [] {});
  EXPECT_EQ(zero.met(), "") << "the right one is still waited for";
}

TEST(Gloo, T_164_AnotherNumberOfRanksIsNamedByBoth) {
  for (const int told : {2, 4}) {
    const TemporaryFolder folder;
    const belay_cluster_api* const api = find_table<belay_cluster_api>(module(), "gloo");
    std::vector<std::string> errors(2);
    const auto open = [&](int rank, int size) {
      ClusterRank process(api, {}, rank, size, folder.path());
      try {
        process.open();
      } catch (const belay::Error& e) {
        errors[static_cast<std::size_t>(rank)] = std::string(code_name(e.code())) + ": " + e.what();
      }
    };
    std::thread zero([&] { open(0, 3); });
    while (std::filesystem::is_empty(folder.path())) std::this_thread::yield();
    open(1, told);
    zero.join();
    const std::string other = "as one of " + std::to_string(told), end = "; start all ranks with the same number";
    EXPECT_THAT(errors[0], testing::StartsWith("INVALID_ARGUMENT: rank 1 was started " + other +
                                               " ranks, and rank 0 as one of 3" + end));
    EXPECT_THAT(errors[1], testing::StartsWith("INVALID_ARGUMENT: rank 0 was started as one of 3 ranks, and rank 1 " +
                                               other + end));
  }
}

TEST(Gloo, T_163_ARankThatDidNotComeAndTheOneThatWasRefusedAreSaidTogether) {
  const TemporaryFolder folder;
  RankZero zero(folder.path(), std::chrono::seconds(3));
  belay_gloo::FolderBoard board(folder.path(), false);
  OtherToken other(board);
  EXPECT_THROW(belay_gloo::Lifelines(rank_one(other), [] {}), belay::Error);
  EXPECT_EQ(zero.met(),
            "UNAVAILABLE: rank 1 of 2 did not come; a process that claimed to be rank 1 was refused, since it did not "
            "have the token that rank 0 left at the ranks' meeting place");
}

// ---- real processes, which end with the test

// Starts a rank in a separate process. It ends with status 0 if `f` returned, else with 9.
pid_t start_rank(int rank, int size, const std::string& directory, const std::function<void(ClusterRank&)>& f) {
  const pid_t test = ::getpid();
  const pid_t child = ::fork();
  if (child != 0) return child;
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != test) ::_exit(8);
  ::alarm(kHangSecs);
  int status = 9;
  try {
    ClusterRank process(find_table<belay_cluster_api>(module(), "gloo"), {}, rank, size, directory);
    f(process);
    status = 0;
  } catch (...) {
  }
  ::_exit(status);
}

using Call = std::function<void(ClusterRank&)>;

// Returns the error of rank 0 after rank 1 of three processes got a signal. The calls are repeated without end; the
// signal is sent at this moment after the first one.
std::string told_after(int signal, double timeout_secs, const Call& call, std::chrono::nanoseconds moment) {
  const TemporaryFolder folder;
  const auto until_the_end = [&](ClusterRank& rank) {
    rank.timeout(timeout_secs);
    rank.open();
    rank.barrier();
    for (;;) call(rank);
  };
  std::vector<pid_t> children;
  for (int r = 1; r < 3; ++r) children.push_back(start_rank(r, 3, folder.path(), until_the_end));
  std::string told;
  std::thread killer;
  try {
    ClusterRank rank(find_table<belay_cluster_api>(module(), "gloo"), {}, 0, 3, folder.path());
    rank.timeout(timeout_secs);
    rank.open();
    rank.barrier();
    killer = std::thread([&] {
      std::this_thread::sleep_for(moment);
      ::kill(children[0], signal);
    });
    for (;;) call(rank);
  } catch (const belay::Error& e) {
    told = std::string(code_name(e.code())) + ": " + e.what();
  }
  if (killer.joinable()) killer.join();
  ::kill(children[0], SIGKILL);
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    if (child == children[1]) {
      EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 9)
          << "the other survivor is told, too, and does not hang";
    }
  }
  return told;
}

struct NamedCall {
  const char* name;
  Call call;
};

const std::vector<NamedCall>& calls() {
  static const std::vector<NamedCall> all = {{"barrier", [](ClusterRank& rank) { rank.barrier(); }},
                                             {"broadcast",
                                              [](ClusterRank& rank) {
                                                Tensor tensor(DType::kFloat32, {50000});
                                                rank.broadcast(tensor, {.peer = 1});
                                              }},
                                             {"all_reduce",
                                              [](ClusterRank& rank) {
                                                Tensor tensor(DType::kFloat32, {50000});
                                                rank.all_reduce(tensor);
                                              }},
                                             {"all_gather",
                                              [](ClusterRank& rank) {
                                                const Tensor mine(DType::kFloat32, {20000});
                                                Tensor of_all(DType::kFloat32, {60000});
                                                rank.all_gather(mine, of_all);
                                              }},
                                             {"split", [](ClusterRank& rank) { rank.split(0); }},
                                             {"send and receive", [](ClusterRank& rank) {
                                                Tensor tensor(DType::kFloat32, {50000});
                                                const int next = (rank.rank() + 1) % 3, before = (rank.rank() + 2) % 3;
                                                if (rank.rank() == 0) rank.send(tensor, {.peer = next});
                                                rank.receive(tensor, {.peer = before});
                                                if (rank.rank() != 0) rank.send(tensor, {.peer = next});
                                              }}};
  return all;
}

TEST(GlooProcesses, ARankThatIsKilledIsNamed) {
  EXPECT_EQ(told_after(SIGKILL, 60, calls()[0].call, {}), "ABORTED: rank 1 has ended or left");
}

// BELAY_GLOO_KILLS is the number of rounds; the long test sets 200.
TEST(GlooProcesses, ARankThatIsKilledAtAnyMomentLeavesNoOtherOneWaiting) {
  const char* given = std::getenv("BELAY_GLOO_KILLS");
  const int rounds = given == nullptr ? 4 : std::atoi(given);
  std::minstd_rand random(19);
  for (const NamedCall& call : calls()) {
    SCOPED_TRACE(call.name);
    for (int i = 0; i < rounds; ++i) {
      const auto moment = std::chrono::microseconds(random() % 3000);
      ASSERT_EQ(told_after(SIGKILL, 60, call.call, moment), "ABORTED: rank 1 has ended or left")
          << "round " << i << ", " << moment.count() << " us";
    }
  }
}

TEST(GlooProcesses, ARankThatIsStoppedIsNamedAfterTheTimeout) {
  EXPECT_THAT(told_after(SIGSTOP, 0.4, calls()[0].call, {}),
              testing::StartsWith("ABORTED: rank 1 has shown no sign of life"));
}

}  // namespace gloo_test
