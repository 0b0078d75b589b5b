// SPDX-License-Identifier: Apache-2.0
// Processes that meet through a Redis server, the real one.
#include <signal.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/ranks_fixture.h"
#include "tests/e2e/redis_server.h"
#include "tests/e2e/sparse_table.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class RedisRanks : public Ranks {
 protected:
  void SetUp() override {
    Ranks::SetUp();
    if (!RedisServer::is_installed()) GTEST_SKIP() << "redis-server is not installed: nothing here was tested";
    server = std::make_unique<RedisServer>(temp / ".");
  }
  std::vector<std::string> at_server(const std::string& job = "job") const {
    return {"--set", "cluster.rendezvous=\"" + server->url(job) + "\""};
  }
  std::string elsewhere(const std::string& name) const { return "run.dir=\"" + (temp / name) + "\""; }
  bool is_there(const std::string& name) const { return std::filesystem::exists(temp / name); }

  std::unique_ptr<RedisServer> server;
};

TEST_F(RedisRanks, TheyTrainTheSameBitsWithoutADirectoryThatBothSeeAndLeaveNoKey) {
  const std::string path = manifest({.dir = "folder"});
  train(path, 2);
  std::vector<std::string> chief = at_server(), worker = at_server();
  chief.insert(chief.end(), {"--set", elsewhere("of_chief")});
  worker.insert(worker.end(), {"--set", elsewhere("of_worker")});
  const Process one = start(path, 1, 2, worker), zero = start(path, 0, 2, chief);
  for (const ProcessResult& r : {zero->wait(), one->wait()}) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(weights_of("folder", 100).empty());
  EXPECT_EQ(weights_of("of_chief", 100), weights_of("folder", 100));
  EXPECT_FALSE(is_there("of_worker"));
  EXPECT_EQ(server->ask("DBSIZE"), ":0\r\n");
}

TEST_F(RedisRanks, RowsOfSparseGradientsTrainTheWeightsOfTheDenseForm) {
  for (const std::string name : {"sgd", "adagrad"}) {
    SCOPED_TRACE(name);
    train(sparse_manifest(temp.path(), {.dir = name, .optimizer = "name = \"" + name + "\"\n"}), 2, at_server());
    train(sparse_manifest(temp.path(), {.dir = "dense_" + name, .optimizer = "name = \"dense_" + name + "\"\n"}), 2,
          at_server());
    EXPECT_GT(values(name, 40).size(), 200U);
    EXPECT_EQ(values(name, 40), values("dense_" + name, 40));
  }
  EXPECT_EQ(server->ask("DBSIZE"), ":0\r\n");
}

TEST_F(RedisRanks, FourMeetWhicheverComesFirst) {
  const std::string path = manifest({.dir = "run", .steps = 10});
  std::vector<Process> all;
  for (const int rank : {3, 1, 0, 2}) all.push_back(start(path, rank, 4, at_server()));
  for (const ProcessResult& r : wait_for_all(all)) EXPECT_EQ(r.status, 0) << r.err;
}

// It is needed until they have met, and not then.
TEST_F(RedisRanks, TheTrainingGoesOnWhereTheServerIsKilledAndAStartNamesIt) {
  const std::string path = endless("run");
  const std::vector<Process> all = start_all(path, 2, at_server());
  for (const Process& p : all) ASSERT_TRUE(p->wait_for("training")) << p->wait().err;
  server->kill();
  const std::vector<std::string> before = listing(temp / "run");
  all[0]->kill(SIGUSR2);  // saves now
  EXPECT_TRUE(all[0]->wait_until([&] { return listing(temp / "run") != before; })) << "steps are made";
  all[1]->kill(SIGTERM);
  const std::vector<ProcessResult> results = wait_for_all(all);
  EXPECT_EQ(results[0].status, 0) << results[0].err;
  EXPECT_EQ(results[1].signal, SIGTERM) << results[1].err;

  for (const ProcessResult& r : wait_for_all(start_all(path, 2, at_server()))) {
    EXPECT_EQ(r.status, 1) << r.err;
    EXPECT_THAT(r.err, AllOf(HasSubstr("the Redis server at 127.0.0.1:" + std::to_string(server->port()) +
                                       ", the meeting place of the ranks, cannot be reached: Connection refused"),
                             HasSubstr("start one there (redis-server --port "), HasSubstr("or change rendezvous = ")));
  }
}

// The worker has found the meeting of a chief that is gone; its name is there for a few seconds more.
TEST_F(RedisRanks, AWorkerGoesFromAKilledChiefToTheNextOne) {
  const std::string path = endless("run", 60);
  const Process killed = start(path, 0, 3, at_server());
  const Process first = start(path, 1, 3, at_server());
  ASSERT_TRUE(first->wait_until([&] { return server->ask("DBSIZE") >= ":5"; }));  // both have left their addresses
  killed->kill(SIGKILL);
  killed->wait();
  const Process chief = start(path, 0, 3, at_server()), second = start(path, 2, 3, at_server());
  for (const ProcessResult& r : {chief->wait(), first->wait(), second->wait()}) EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_FALSE(weights_of("run", 60).empty());
}

TEST_F(RedisRanks, ASecondJobOfTheSameNameAndASecondRankOfTheSameNumberAreRefused) {
  const std::string path = endless("run");
  const Process chief = start(path, 0, 3, at_server()), worker = start(path, 1, 3, at_server());
  ASSERT_TRUE(chief->wait_until([&] { return server->ask("DBSIZE") >= ":5"; }));
  std::vector<std::string> other = at_server();
  other.insert(other.end(), {"--set", elsewhere("other")});
  const Process second = start(path, 0, 3, other), again = start(path, 1, 3, at_server());
  const ProcessResult refused = second->wait(), twice = again->wait();
  EXPECT_EQ(refused.status, 6) << refused.err;
  EXPECT_THAT(refused.err, HasSubstr("another run meets as job 'job' at " + server->url("job")));
  EXPECT_EQ(twice.status, 6) << twice.err;
  EXPECT_THAT(twice.err, HasSubstr("rank 1 of job 'job' at " + server->url("job") + " is there already"));
  chief->kill(SIGTERM);
  worker->kill(SIGTERM);
  EXPECT_EQ(chief->wait().signal, SIGTERM);
  EXPECT_EQ(worker->wait().signal, SIGTERM);
}

TEST_F(RedisRanks, ARankThatDoesNotComeIsNamed) {
  std::vector<std::string> soon = at_server();
  soon.insert(soon.end(), {"--set", "cluster.max_wait_secs=0.5"});
  const ProcessResult chief = start(endless("alone"), 0, 2, soon)->wait();
  EXPECT_EQ(chief.status, 1);
  EXPECT_THAT(chief.err, HasSubstr("rank 1 of 2 did not come (cluster.max_wait_secs = 0.5)"));
  const ProcessResult worker = start(endless("without_chief"), 1, 2, soon)->wait();
  EXPECT_EQ(worker.status, 1);
  EXPECT_THAT(worker.err, HasSubstr("rank 0 of 2 did not begin the job 'job' at " + server->url("job") +
                                    " (cluster.max_wait_secs = 0.5)"));
}

TEST_F(RedisRanks, APasswordIsTheEnvironments) {
  const RedisServer secret(temp / ".", "rope");
  const std::vector<std::string> set{"--set", "cluster.rendezvous=\"" + secret.url("job") + "\""};
  const std::string path = manifest({.dir = "run", .steps = 10});
  const ProcessResult refused = start(path, 0, 2, set)->wait();
  EXPECT_EQ(refused.status, 1) << refused.err;
  EXPECT_THAT(refused.err, AllOf(HasSubstr("NOAUTH"), HasSubstr("REDISCLI_AUTH")));
  std::vector<Process> all;
  for (const std::string rank : {"0", "1"}) {
    std::vector<std::string> args{"run", path};
    args.insert(args.end(), set.begin(), set.end());
    all.push_back(std::make_unique<BelayProcess>(
        args, std::vector<std::string>{"RANK=" + rank, "WORLD_SIZE=2", "REDISCLI_AUTH=rope"}));
  }
  for (const ProcessResult& r : wait_for_all(all)) EXPECT_EQ(r.status, 0) << r.err;
}

TEST_F(RedisRanks, WhatIsNoAddressIsRefusedAtItsPlace) {
  const std::string path = manifest({.dir = "run"});
  for (const std::string wrong : {"localhost:6379", "redis://", "redis://host:port", "redis://:word@host"}) {
    const ProcessResult r = belay({"check", path, "--set", "cluster.rendezvous=\"" + wrong + "\""});
    EXPECT_EQ(r.status, 2) << wrong << r.err;
    EXPECT_THAT(r.err, HasSubstr("it is written redis://HOST, redis://HOST:PORT or redis://HOST:PORT/JOB"));
  }
}

}  // namespace
}  // namespace belay::runtime::testing
