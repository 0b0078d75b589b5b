// SPDX-License-Identifier: Apache-2.0
// A model describes more of its graph than loss, predictions and metrics, through the real program: signatures, hooks,
// pieces of the scaffold, initial values. And a plugin in C reads its place in the run.
#include <nlohmann/json.hpp>

#include "tests/e2e/run_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class ModelSpecTest : public RunTest {
 protected:
  // The model `whole` with these options on the input `numbers`, evaluated in four batches; `more` are tables.
  std::string whole(const std::string& options = "", const std::string& more = "", int max_steps = 3) {
    const std::string path = temp / "train.toml";
    write_file(path, "[run]\ndir = \"run\"\nmax_steps = " + std::to_string(max_steps) +
                         "\nthreads = 1\nseed = 7\n[input.train]\nplugin = \"numbers\"\n[input.eval]\nplugin = "
                         "\"numbers\"\nexamples = 64\nepochs = 1\n[model]\nplugin = \"whole\"\n" +
                         options + "\n[optimizer]\nname = \"sgd\"\nlearning_rate = 0.01\n" + more);
    return path;
  }
  // The lines of stderr that have `begin`, from the last one of a line on.
  std::vector<std::string> said(const ProcessResult& r, const std::string& begin) const {
    std::vector<std::string> found;
    for (const std::string& line : lines_with(told(r), begin)) found.push_back(line.substr(line.rfind(begin)));
    return found;
  }
};

// ---- queries

std::string place(int mode, int attempt) {
  return "mode=" + std::to_string(mode) + " rank=0 ranks=1 chief=1 attempt=" + std::to_string(attempt) +
         " stopping=0 seed=7 dir=DIR/run";
}

TEST_F(ModelSpecTest, B_12c_APluginInCReadsEveryQueryInTrainingEvaluationAndInit) {
  const std::string init = "[scaffold]\ninit_fn = [{ plugin = \"c_queries\" }]\n";
  const ProcessResult r = belay({"run", whole("queries = true", init, 2)});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::string train = place(1, 1), eval = place(2, 1);
  EXPECT_THAT(said(r, "init: "), ElementsAre("init: " + train + " step=0"));
  EXPECT_THAT(said(r, "after_create_session: "),
              ElementsAre("after_create_session: " + train + " step=0", "after_create_session: " + eval + " step=2"));
  EXPECT_THAT(said(r, "after_run: "),
              ElementsAre("after_run: " + train + " step=1 run=1", "after_run: " + train + " step=2 run=2",
                          "after_run: " + eval + " step=2 run=1", "after_run: " + eval + " step=2 run=2",
                          "after_run: " + eval + " step=2 run=3", "after_run: " + eval + " step=2 run=4"));
}

TEST_F(ModelSpecTest, B_12d_TheAttemptCountsTheStartsOfARunInItsDirectory) {
  const auto created = [&](const std::vector<std::string>& args) {
    const ProcessResult r = belay(args);
    EXPECT_EQ(r.status, 0) << r.err;
    return said(r, "create: mode=1");
  };
  EXPECT_THAT(created({"run", whole("queries = true", "", 2)}), ElementsAre("create: " + place(1, 1)));
  EXPECT_THAT(created({"run", whole("queries = true", "", 4)}), ElementsAre("create: " + place(1, 2)));
  EXPECT_EQ(contents(run_dir() + "/attempts"), "2\n");
  // One that comes to nothing before its graph is built is none, and neither is one that only reads.
  EXPECT_EQ(belay({"run", whole("wrong = \"method\"", "", 6)}).status, 2);
  EXPECT_EQ(belay({"evaluate", whole("", "", 6)}).status, 0);
  EXPECT_THAT(created({"run", whole("queries = true", "", 6)}), ElementsAre("create: " + place(1, 3)));
  EXPECT_THAT(created({"run", whole("queries = true", "", 2), "--from-scratch"}),
              ElementsAre("create: " + place(1, 1)));
  EXPECT_EQ(contents(run_dir() + "/attempts"), "1\n");
}

TEST_F(ModelSpecTest, ARunThatWasBegunBeforeAttemptsWereCountedIsInItsSecond) {
  ASSERT_EQ(belay({"run", whole()}).status, 0);
  std::filesystem::remove(run_dir() + "/attempts");
  const ProcessResult r = belay({"run", whole("queries = true", "", 5)});
  EXPECT_EQ(r.status, 0) << r.err;
  EXPECT_THAT(said(r, "create: mode=1"), ElementsAre("create: " + place(1, 2)));
}

// ---- signatures

TEST_F(ModelSpecTest, B_12e_AModelsSignaturesHaveAMethodInputsAndOutputs) {
  const ProcessResult r = belay({"graph", whole(), "--json"});
  ASSERT_EQ(r.status, 0) << r.err;
  const nlohmann::json found = nlohmann::json::parse(r.out).at("signatures");
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].at("name"), "serving_default");
  EXPECT_EQ(found[0].at("method"), "predict");
  EXPECT_TRUE(found[0].at("inputs").contains("x"));
  EXPECT_TRUE(found[0].at("outputs").contains("y"));
  EXPECT_EQ(found[1].at("name"), "regression");
  EXPECT_EQ(found[1].at("method"), "regress");
  const std::string text = belay({"graph", whole()}).out;
  EXPECT_THAT(text, AllOf(HasSubstr("\nsignatures\n"), HasSubstr("serving_default"), HasSubstr("regress")));
}

TEST_F(ModelSpecTest, B_12f_ASignatureThatIsWrongIsRefusedByName) {
  const std::pair<const char*, const char*> cases[] = {
      {"signature twice", "the model has the signature 'regression' twice"},
      {"method", "the signature 'guess': its method is 'guess'; the methods are: predict, classify, regress"},
      {"unknown output", "the signature 'more': its output 'z': an empty Output was used"},
      {"output twice", "the signature 'more': its output 'y' is there twice"},
      {"two ready ops", "the model has the piece ready_op twice"},
      {"hook twice", "the model brings two hooks with the name 'whole_training'; give one of them another name"}};
  for (const auto& [wrong, expected] : cases) {
    const ProcessResult r = belay({"check", whole("wrong = \"" + std::string(wrong) + "\"")});
    EXPECT_EQ(r.status, 2) << wrong;
    EXPECT_THAT(r.err, HasSubstr(expected)) << wrong;
  }
}

// ---- hooks

TEST_F(ModelSpecTest, B_12g_AModelBringsTheHooksOfEachMode) {
  const std::string manifest = whole();
  const ProcessResult run = belay({"run", manifest});
  ASSERT_EQ(run.status, 0) << run.err;
  EXPECT_THAT(said(run, "training: "), ElementsAre("training: slope 2.500000, table 7.000000", "training: 3 runs"));
  EXPECT_THAT(said(run, "chief: ").size(), 2u);
  EXPECT_THAT(said(run, "evaluation: "), Contains("evaluation: 4 runs"));
  EXPECT_THAT(said(run, "prediction: "), IsEmpty());
  const ProcessResult evaluate = belay({"evaluate", manifest});
  ASSERT_EQ(evaluate.status, 0) << evaluate.err;
  EXPECT_THAT(said(evaluate, "evaluation: "), Contains("evaluation: 4 runs"));
  EXPECT_THAT(said(evaluate, "training: "), IsEmpty());
  EXPECT_EQ(evaluate.out, run.out);
  const ProcessResult predict = belay({"predict", manifest});
  ASSERT_EQ(predict.status, 0) << predict.err;
  EXPECT_THAT(said(predict, "prediction: "), Contains("prediction: 4 runs"));
  EXPECT_THAT(said(predict, "evaluation: "), IsEmpty());
}

TEST_F(ModelSpecTest, AHookOfAnEvaluationIsCalledInEachOfThem) {
  const ProcessResult r = belay({"run", whole("", "[eval]\nevery_steps = 2\n", 6)});
  ASSERT_EQ(r.status, 0) << r.err;
  const std::vector<std::string> lines = said(r, "evaluation: ");
  EXPECT_EQ(std::count(lines.begin(), lines.end(), "evaluation: 4 runs"), 3) << r.err;
}

TEST_F(ModelSpecTest, B_12h_AHookOfTheModelThatIsNotThereIsNamedWithTheModel) {
  const ProcessResult missing = belay({"run", whole("wrong = \"no such hook\"")});
  EXPECT_EQ(missing.status, 3);
  EXPECT_THAT(missing.err,
              AllOf(HasSubstr("\"witnes\""), HasSubstr("a hook that model \"whole\" "), HasSubstr(" brings")));
  const ProcessResult option = belay({"run", whole("wrong = \"no such option\"")});
  EXPECT_EQ(option.status, 2);
  EXPECT_THAT(option.err, AllOf(HasSubstr("model \"whole\" "), HasSubstr("brings the hook \"witness\": "),
                                HasSubstr("\"sais\""), HasSubstr("did you mean \"says\"?")));
  const ProcessResult taken = belay({"run", whole("wrong = \"taken name\"")});
  EXPECT_EQ(taken.status, 2);
  EXPECT_THAT(taken.err, HasSubstr("two hooks are named \"nan_tensor\""));
  EXPECT_FALSE(std::filesystem::exists(run_dir()));
}

// ---- pieces of the scaffold

TEST_F(ModelSpecTest, B_12i_AModelBringsPiecesOfTheScaffold) {
  const ProcessResult own = belay({"run", whole("summary = true", "[session]\nsave_summaries_steps = 1\n")});
  ASSERT_EQ(own.status, 0) << own.err;
  // Its local init has filled the variable, in each session.
  EXPECT_THAT(said(own, "training: "), Contains("training: slope 2.500000, table 7.000000"));
  EXPECT_THAT(lines_with(told(own), "evaluation: slope "), Not(IsEmpty()));
  for (const std::string& line : lines_with(told(own), "evaluation: slope ")) EXPECT_THAT(line, HasSubstr("table 7.0"));
  // Its summaries are there in place of the loss.
  std::string events;
  for (const auto& entry : std::filesystem::directory_iterator(run_dir()))
    if (entry.path().filename().string().rfind(kEventFile, 0) == 0) events += contents(entry.path().string());
  EXPECT_THAT(events, HasSubstr("slope"));
  const ProcessResult check = belay({"check", whole()});
  EXPECT_THAT(check.out, AllOf(HasSubstr("init_op default, local_init the model's, ready the model's, "
                                         "ready_for_local_init the model's, summary_op default\n"),
                               HasSubstr("hook  whole_training, of the model\n")));
  // A setting of the manifest has precedence over the model's.
  const ProcessResult named =
      belay({"run", whole("", "[scaffold]\nready = \"not_ready_for_local_init\"\n", 4), "--from-scratch"});
  EXPECT_EQ(named.status, 0) << named.err;
}

// ---- initial values

TEST_F(ModelSpecTest, B_12j_ANewRunBeginsWithTheModelsValuesAndAResumedOneDoesNotAsk) {
  const ProcessResult fresh = belay({"run", whole("", "", 2)});
  ASSERT_EQ(fresh.status, 0) << fresh.err;
  EXPECT_THAT(said(fresh, "asked for "), ElementsAre("asked for global_step", "asked for learning_rate_scale",
                                                     "asked for offset", "asked for slope"));
  EXPECT_THAT(said(fresh, "training: slope"), ElementsAre("training: slope 2.500000, table 7.000000"));
  const ProcessResult resumed = belay({"run", whole("", "", 4)});
  ASSERT_EQ(resumed.status, 0) << resumed.err;
  EXPECT_THAT(said(resumed, "asked for "), IsEmpty());
  EXPECT_THAT(said(resumed, "training: slope"), Not(Contains(HasSubstr("2.500000"))));
  for (const char* command : {"evaluate", "predict"})
    EXPECT_THAT(said(belay({command, whole()}), "asked for "), IsEmpty()) << command;
}

TEST_F(ModelSpecTest, AnErrorOfTheModelsInitialValuesEndsTheRunAlsoWhereItIsNotFound) {
  const ProcessResult r = belay({"run", whole("wrong = \"initial value\"")});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("model \"whole\" "), HasSubstr("in initial_value: no file with values")));
}

TEST_F(ModelSpecTest, T_153_AModelThatBeginsWithANegativeStepIsNamed) {
  const ProcessResult r = belay({"run", whole("wrong = \"initial step\"")});
  EXPECT_EQ(r.status, 1);
  EXPECT_THAT(r.err, AllOf(HasSubstr("model \"whole\" "),
                           HasSubstr("in initial_value: the global step 'global_step' cannot become -1000; it counts "
                                     "from 0")));
}

}  // namespace
}  // namespace belay::runtime::testing
