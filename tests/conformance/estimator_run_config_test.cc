// SPDX-License-Identifier: Apache-2.0
// RunConfig: section 8 of the catalogue.
#include "tests/estimator/estimator_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

RunConfig local(RunConfigOptions options = {}) { return RunConfig(std::move(options), variables({})); }
RunConfig of(const std::string& json) { return RunConfig({}, variables({{"TF_CONFIG", json}})); }
std::string error_in(const std::string& json) {
  return error_of([&] { of(json); });
}
// A cluster in which this process is one task.
std::string task(const std::string& cluster, const std::string& type, const std::string& index) {
  return R"({"cluster": {)" + cluster + R"(}, "task": {"type": ")" + type + R"(", "index": )" + index + "}}";
}

constexpr const char* kSix = R"("chief": ["host0:0"], "ps": ["host1:1", "host2:2"],
                                "worker": ["host3:3", "host4:4", "host5:5"])";

TEST(RunConfigs, RC_01_DefaultsAreTensorFlows) {
  const RunConfig c = local();
  EXPECT_EQ(c.model_dir(), "");
  EXPECT_EQ(c.options().random_seed, std::nullopt);
  EXPECT_EQ(c.options().save_summary_steps, 100);
  EXPECT_EQ(c.save_checkpoints_steps(), std::nullopt);
  EXPECT_EQ(c.save_checkpoints_secs(), 600);
  EXPECT_EQ(c.options().keep_checkpoint_max, 5);
  EXPECT_EQ(c.options().log_step_count_steps, 100);
  EXPECT_EQ(c.options().session_creation_timeout_secs, 7200);
  EXPECT_TRUE(c.options().checkpoint_save_graph_def);
  EXPECT_EQ(c.task_type(), "worker");
  EXPECT_EQ(c.task_index(), 0);
  EXPECT_TRUE(c.is_chief());
  EXPECT_THAT(c.cluster(), IsEmpty());
  EXPECT_EQ(c.master(), "");
  EXPECT_EQ(c.evaluation_master(), "");
  EXPECT_EQ(c.num_ps_replicas(), 0);
  EXPECT_EQ(c.num_worker_replicas(), 1);
  EXPECT_EQ(c.global_id_in_cluster(), 0);
  EXPECT_EQ(c.service(), std::nullopt);
}

TEST(RunConfigs, RC_02_EveryPropertyMayBeGivenOrNoneAndIsChecked) {
  const RunConfig c = local({.random_seed = 7,
                             .save_summary_steps = std::nullopt,
                             .save_checkpoints_steps = std::nullopt,
                             .save_checkpoints_secs = std::nullopt,
                             .keep_checkpoint_max = std::nullopt,
                             .log_step_count_steps = std::nullopt,
                             .session_creation_timeout_secs = std::nullopt});
  EXPECT_EQ(c.seed(), 7);
  EXPECT_EQ(c.save_checkpoints_secs(), std::nullopt);
  const RunConfig zero = local({.save_summary_steps = 0, .save_checkpoints_steps = 0, .keep_checkpoint_max = 0});
  EXPECT_EQ(zero.save_checkpoints_steps(), 0);
  EXPECT_EQ(zero.save_checkpoints_secs(), std::nullopt);

  using Change = std::function<void(RunConfigOptions&)>;
  const std::pair<const char*, Change> wrong[] = {
      {"save_summary_steps must be at least 0, got -1", [](auto& o) { o.save_summary_steps = -1; }},
      {"save_checkpoints_steps must be at least 0, got -1", [](auto& o) { o.save_checkpoints_steps = -1; }},
      {"save_checkpoints_secs must be at least 0, got -1", [](auto& o) { o.save_checkpoints_secs = -1.0; }},
      {"keep_checkpoint_max must be at least 0, got -1", [](auto& o) { o.keep_checkpoint_max = -1; }},
      {"keep_checkpoint_every_n_hours must be above 0, got 0", [](auto& o) { o.keep_checkpoint_every_n_hours = 0; }},
      {"log_step_count_steps must be above 0, got 0", [](auto& o) { o.log_step_count_steps = 0; }},
      {"session_creation_timeout_secs must be above 0, got 0", [](auto& o) { o.session_creation_timeout_secs = 0; }},
      {"threads must be at least 0, got -1", [](auto& o) { o.threads = -1; }},
      {"save_checkpoints_steps and save_checkpoints_secs are both given",
       [](auto& o) { o.save_checkpoints_steps = 1, o.save_checkpoints_secs = 2.0; }},
  };
  for (const auto& [text, change] : wrong) {
    RunConfigOptions o;
    change(o);
    EXPECT_THAT(error_of([&] { local(o); }), HasSubstr(std::string("INVALID_ARGUMENT: [B5051] RunConfig: ") + text));
    EXPECT_THAT(error_of([&] { local().replace(change); }), HasSubstr(text));
  }
  const RunConfig replaced = local({.model_dir = "/a"}).replace([](auto& o) { o.model_dir = "/b", o.random_seed = 9; });
  EXPECT_EQ(replaced.model_dir(), "/b");
  EXPECT_EQ(replaced.seed(), 9);
}

TEST(RunConfigs, RC_04_OnePeriodOfCheckpointsTakesThePlaceOfTheOther) {
  const RunConfig c = local();
  const RunConfig steps = c.replace([](auto& o) { o.save_checkpoints_steps = 100; });
  EXPECT_EQ(steps.save_checkpoints_steps(), 100);
  EXPECT_EQ(steps.save_checkpoints_secs(), std::nullopt);
  const RunConfig secs = steps.replace([](auto& o) { o.save_checkpoints_secs = 200.0; });
  EXPECT_EQ(secs.save_checkpoints_steps(), std::nullopt);
  EXPECT_EQ(secs.save_checkpoints_secs(), 200);
  const RunConfig none = secs.replace([](auto& o) { o.save_checkpoints_secs = std::nullopt; });
  EXPECT_EQ(none.save_checkpoints_steps(), std::nullopt);
  EXPECT_EQ(none.save_checkpoints_secs(), std::nullopt);
  // The default may be switched off, and stays so.
  const RunConfig off = c.replace([](auto& o) { o.save_checkpoints_secs = std::nullopt; });
  EXPECT_EQ(off.replace([](auto& o) { o.random_seed = 1; }).save_checkpoints_secs(), std::nullopt);
  EXPECT_EQ(c.save_checkpoints_secs(), 600);
}

TEST(RunConfigs, RC_05_WithoutAClusterTheTaskIsWorkerZero) {
  const RunConfig c =
      of(R"({"task": {"type": "worker", "index": 0}, "session_master": "m", "eval_session_master": "e"})");
  EXPECT_EQ(c.master(), "m");
  EXPECT_EQ(c.evaluation_master(), "e");
  EXPECT_TRUE(c.is_chief());
  EXPECT_EQ(of("{}").task_type(), "worker");
  for (const char* type : {"chief", "master"})
    EXPECT_EQ(
        error_in(std::string(R"({"task": {"type": ")") + type + R"(", "index": 0}})"),
        std::string("INVALID_ARGUMENT: [B5100] TF_CONFIG: task.type must be \"worker\" without a cluster, not \"") +
            type + "\"");
  EXPECT_EQ(error_in(R"({"task": {"type": "worker", "index": 1}})"),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: task.index must be 0 without a cluster, not 1");
}

TEST(RunConfigs, RC_05_BelaysVariableComesBeforeTensorFlowsAndWhatIsNoJsonIsRefused) {
  EXPECT_EQ(
      RunConfig({}, variables({{"BELAY_CONFIG", R"({"model_dir": "/b"})"}, {"TF_CONFIG", R"({"model_dir": "/t"})"}}))
          .model_dir(),
      "/b");
  EXPECT_EQ(of(R"({"model_dir": "/t"})").model_dir(), "/t");
  EXPECT_THAT(error_in("{"), HasSubstr("INVALID_ARGUMENT: [B5100] TF_CONFIG is no JSON"));
  EXPECT_EQ(error_in("[]"), "INVALID_ARGUMENT: [B5100] TF_CONFIG: it must be an object");
  EXPECT_EQ(error_in(R"({"task": 3})"), "INVALID_ARGUMENT: [B5100] TF_CONFIG: task must be an object");
  EXPECT_EQ(error_in(R"({"cluster": {"worker": "a:1"}})"),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: cluster.worker must be a list of addresses");
}

TEST(RunConfigs, RC_06_ATaskOfAClusterKnowsItsAddressAndTheCounts) {
  const RunConfig chief = of(task(kSix, "chief", "0"));
  EXPECT_EQ(chief.master(), "grpc://host0:0");
  EXPECT_TRUE(chief.is_chief());
  EXPECT_EQ(chief.num_worker_replicas(), 4);
  EXPECT_EQ(chief.num_ps_replicas(), 2);
  EXPECT_EQ(chief.cluster().at("worker").size(), 3);
  const RunConfig worker = of(task(kSix, "worker", "1"));
  EXPECT_EQ(worker.master(), "grpc://host4:4");
  EXPECT_FALSE(worker.is_chief());
  EXPECT_EQ(of(task(kSix, "ps", "0")).master(), "grpc://host1:1");
  EXPECT_EQ(of(task(kSix, "worker", "\"1\"")).task_index(), 1);  // as some tools write it
}

TEST(RunConfigs, CLU_02_JobsAreInTheOrderOfTheirNames) {
  const auto config = of(task(R"("worker": ["b:1"], "chief": ["a:1"], "ps": ["c:1"])", "chief", "0"));
  std::vector<std::string> jobs;
  for (const auto& [job, addresses] : config.cluster()) jobs.push_back(job);
  EXPECT_EQ(jobs, (std::vector<std::string>{"chief", "ps", "worker"}));
}

TEST(RunConfigs, CLU_03_TasksAreAListWithoutGapsAndOneThatIsNotThereIsRefused) {
  EXPECT_EQ(of(task(kSix, "ps", "1")).cluster().at("worker"),
            (std::vector<std::string>{"host3:3", "host4:4", "host5:5"}));
  EXPECT_THAT(error_in(task(R"("chief": ["a:1"], "worker": {"0": "b:1", "3": "c:1"})", "worker", "0")),
              HasSubstr("cluster.worker must be a list of addresses"));
  EXPECT_THAT(error_in(task(kSix, "worker", "3")), HasSubstr("task.index must be below 3"));
  EXPECT_THAT(error_in(task(kSix, "drone", "0")), HasSubstr("has no \"drone\""));
}

TEST(RunConfigs, CLU_04_ClustersAreEqualByTheirJobsAndAddressesAndNoneIsEmpty) {
  const auto cluster = [](const std::string& workers) {
    return of(task("\"worker\": [" + workers + "], \"chief\": [\"a:1\"]", "chief", "0")).cluster();
  };
  EXPECT_EQ(cluster(R"("b:1", "c:1")"), cluster(R"("b:1", "c:1")"));
  EXPECT_NE(cluster(R"("b:1", "c:1")"), cluster(R"("c:1", "b:1")"));
  EXPECT_FALSE(cluster(R"("b:1")").empty());
  EXPECT_TRUE(local().cluster().empty());
}

TEST(RunConfigs, RC_07_OneTaskNeedsNoAddressAndAGivenMasterWins) {
  for (const std::string type : {"chief", "master"}) {
    const std::string one = "\"" + type + "\": [\"host0:0\"]";
    EXPECT_EQ(of(task(one, type, "0")).master(), "");
    for (const std::string& cluster : {one, one + R"(, "worker": ["host1:1"])"})
      EXPECT_EQ(of(R"({"session_master": "here", )" + task(cluster, type, "0").substr(1)).master(), "here");
  }
}

TEST(RunConfigs, RC_08_EachMistakeInAClusterHasItsMessage) {
  const auto wrong = [](const std::string& cluster, const std::string& type, const std::string& index) {
    return error_in(task(cluster, type, index)).substr(std::string("INVALID_ARGUMENT: [B5100] TF_CONFIG: ").size());
  };
  EXPECT_EQ(wrong(R"("worker": ["b:2"])", "worker", "0"), "cluster must be one with exactly one \"chief\", not 0");
  for (const std::string chief : {"chief", "master"}) {
    const std::string one = "\"" + chief + R"(": ["a:1"], "worker": ["b:2"])";
    EXPECT_EQ(wrong("\"" + chief + R"(": ["a:1", "b:2"])", chief, "0"),
              "cluster must be one with exactly one \"" + chief + "\", not 2");
    EXPECT_EQ(error_in(R"({"cluster": {)" + one + R"(}, "task": {"index": 0}})"),
              "INVALID_ARGUMENT: [B5100] TF_CONFIG: task.type must be given where there is a cluster");
    EXPECT_EQ(error_in(R"({"cluster": {)" + one + R"(}, "task": {"type": "worker"}})"),
              "INVALID_ARGUMENT: [B5100] TF_CONFIG: task.index must be given where there is a cluster");
    EXPECT_EQ(wrong(one, "worker", "1"), "task.index must be below 1, the number of tasks of \"worker\", not 1");
    EXPECT_EQ(wrong(one, "worker", "-1"), "task.index must be at least 0, not -1");
    EXPECT_EQ(wrong(one, "boss", "0"), "task.type must be a job of the cluster, which has no \"boss\"");
  }
  EXPECT_EQ(wrong(R"("chief": ["a:1"], "master": ["b:2"])", "chief", "0"),
            "cluster must be one with a \"chief\" or one with a \"master\", not with both");
}

TEST(RunConfigs, RC_09_AnEvaluatorIsOutsideItsCluster) {
  const RunConfig c = of(R"({"eval_session_master": "e", )" + task(kSix, "evaluator", "12").substr(1));
  EXPECT_EQ(c.task_type(), "evaluator");
  EXPECT_EQ(c.task_index(), 12);
  EXPECT_THAT(c.cluster(), IsEmpty());
  EXPECT_FALSE(c.is_chief());
  EXPECT_EQ(c.num_worker_replicas(), 0);
  EXPECT_EQ(c.num_ps_replicas(), 0);
  EXPECT_EQ(c.master(), "");
  EXPECT_EQ(c.evaluation_master(), "e");
  EXPECT_EQ(c.global_id_in_cluster(), std::nullopt);
  EXPECT_EQ(error_in(task(kSix, "evaluator", "-1")),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: task.index must be at least 0, not -1");
  EXPECT_EQ(error_in(task(R"("master": ["a:1"])", "evaluator", "0")),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: task.type must be another than \"evaluator\" where the cluster has a "
            "\"master\"");
}

TEST(RunConfigs, RC_10_GlobalIdsCountChiefOthersByNameThenPs) {
  const std::string cluster = R"("chief": ["c:0"], "worker": ["w:0", "w:1", "w:2"], "ps": ["p:0", "p:1", "p:2"])";
  EXPECT_EQ(of(task(cluster, "chief", "0")).global_id_in_cluster(), 0);
  EXPECT_EQ(of(task(cluster, "worker", "2")).global_id_in_cluster(), 3);
  EXPECT_EQ(of(task(cluster, "ps", "1")).global_id_in_cluster(), 5);
  const std::string more = cluster + R"(, "other_type": ["o:0", "o:1"])";
  EXPECT_EQ(of(task(more, "other_type", "1")).global_id_in_cluster(), 2);
  EXPECT_EQ(of(task(more, "worker", "2")).global_id_in_cluster(), 5);
  EXPECT_EQ(of(task(R"("master": ["m:0"], "worker": ["w:0"])", "worker", "0")).global_id_in_cluster(), 1);
}

TEST(RunConfigs, RC_11_TheServiceIsKeptAsItIs) {
  EXPECT_EQ(of(R"({"service": {"a": [1, "b"]}})").service(), R"({"a":[1,"b"]})");
  EXPECT_EQ(of("{}").service(), std::nullopt);
  EXPECT_EQ(error_in(R"({"service": 3})"), "INVALID_ARGUMENT: [B5100] TF_CONFIG: service must be an object");
}

TEST(RunConfigs, RC_12_TheModelDirectoryComesFromOneOfTwoPlaces) {
  const Environment says = variables({{"TF_CONFIG", R"({"model_dir": "/t"})"}});
  EXPECT_EQ(RunConfig({}, says).model_dir(), "/t");
  EXPECT_EQ(RunConfig({.model_dir = "/t"}, says).model_dir(), "/t");
  EXPECT_EQ(local({.model_dir = "/o"}).model_dir(), "/o");
  EXPECT_EQ(
      error_of([&] { RunConfig({.model_dir = "/o"}, says); }),
      "INVALID_ARGUMENT: [B5051] RunConfig: model_dir is '/o', and in TF_CONFIG it is '/t'; leave one of them out");
  EXPECT_EQ(error_in(R"({"model_dir": ""})"),
            "INVALID_ARGUMENT: [B5100] TF_CONFIG: model_dir must be a path, or left out");
}

}  // namespace
}  // namespace belay::runtime::testing
