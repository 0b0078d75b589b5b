// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/run_record.h"

#include <gmock/gmock.h>

#include "belay/error.h"
#include "tests/report/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST_F(RunDirectoryTest, AKilledAttemptsPointsBehindTheRestoredStepAreDropped) {
  attempt(1, 20), attempt(11, 30, "", [&](EventWriter& w) { finish(w); });
  const RunRecord run = read();
  const Curve* loss = find_curve(run, "loss");
  ASSERT_NE(loss, nullptr);
  ASSERT_EQ(loss->points.size(), 30u);
  for (std::size_t i = 0; i < 30; ++i) EXPECT_EQ(loss->points[i].step, static_cast<std::int64_t>(i + 1));
  EXPECT_EQ(run.redone_points, 10u);
  ASSERT_EQ(run.attempts.size(), 2u);
  EXPECT_EQ(run.attempts[0].how, AttemptEnd::kWithoutAWord);
  EXPECT_EQ(run.attempts[0].last_step, 20);
  EXPECT_EQ(run.attempts[0].redone, 10);
  EXPECT_EQ(run.attempts[1].from_step, 10);
  EXPECT_EQ(run.attempts[1].how, AttemptEnd::kFinished);
  EXPECT_NEAR(seconds_of_attempts(run), 4, 1e-6);
  EXPECT_EQ(status_text(run), "finished at step 30");
}

TEST_F(RunDirectoryTest, ARunHasComeAsFarAsItsMetricsSayWhereTheEventsAreNotFlushedYet) {
  attempt(1, 20);
  const auto metrics = [&](const std::string& lines) { std::ofstream(dir_ / "metrics.jsonl") << lines; };
  metrics("{\"step\":20,\"attempt\":1,\"time\":4e9}\n{\"step\":33,\"attempt\":1,\"time\":4e9}\n{\"step\":4");
  EXPECT_EQ(read().attempts[0].last_step, 33);
  EXPECT_EQ(read().attempts[0].end, 4e9);
  EXPECT_EQ(status_text(read()), "ended without a word at step 33");
  metrics("{\"step\":33,\"attempt\":1,\"time\":1}\n");  // of an attempt before
  EXPECT_EQ(status_text(read()), "ended without a word at step 20");
  metrics("no line of ours\n[]\n{\"step\":\"x\",\"time\":4e9}\n");
  EXPECT_EQ(status_text(read()), "ended without a word at step 20");
}

TEST_F(RunDirectoryTest, AnAttemptThatMadeNoStepEndedWhereItBegan) {
  attempt(1, 20), attempt(21, 20, "", [&](EventWriter& w) { finish(w); });
  const RunRecord run = read();
  ASSERT_EQ(run.attempts.size(), 2u);
  EXPECT_EQ(run.attempts[1].from_step, 20);
  EXPECT_EQ(run.attempts[1].last_step, 20);
  EXPECT_EQ(status_text(run), "finished at step 20");
}

TEST_F(RunDirectoryTest, ASessionThatWasRecoveredIsNoAttemptAndItsStepsCountOnce) {
  attempt(1, 20, "", [&](EventWriter& w) {
    w.add_session_log(EventWriter::kStart, 6);
    for (std::int64_t step = 6; step <= 25; ++step) w.add_scalar("loss", step, 1);
    w.add_session_log(EventWriter::kStop, 25);
  });
  const RunRecord run = read();
  EXPECT_EQ(find_curve(run, "loss")->points.size(), 25u);
  EXPECT_THAT(run.recoveries, ElementsAre(5));
  ASSERT_EQ(run.attempts.size(), 1u);
  EXPECT_EQ(run.attempts[0].from_step, 0);
  EXPECT_EQ(run.attempts[0].how, AttemptEnd::kStopped);
}

TEST_F(RunDirectoryTest, AnEvaluationsFolderIsACurveOfTheRunAndWhatWasMovedAsideIsNot) {
  attempt(1, 5), attempt(1, 5, "eval"), attempt(1, 50, "before-1");
  const RunRecord run = read();
  EXPECT_NE(find_curve(run, "eval/loss"), nullptr);
  EXPECT_EQ(run.curves.size(), 2u);
  EXPECT_EQ(last_step(run), 5);
}

TEST_F(RunDirectoryTest, WhatChangedBetweenAttemptsIsFoundInTheirManifests) {
  attempt(1, 2);
  manifest(1, "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.1\n");
  manifest(2, "[optimizer]\nname = \"sgd\"\nlearning_rate = 0.05\n");
  manifest(3, "[optimizer\n");
  const RunRecord run = read();
  ASSERT_EQ(run.changes.size(), 1u);
  EXPECT_EQ(run.changes[0].attempt, 2);
  EXPECT_EQ(run.changes[0].key, "optimizer.learning_rate");
  EXPECT_EQ(run.changes[0].was, "0.1");
  EXPECT_EQ(run.changes[0].is, "0.05");
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_THAT(run.problems[0].text, HasSubstr("manifest-0003.toml' is of another version or damaged"));
}

TEST_F(RunDirectoryTest, ATornFileIsReadToItsTear) {
  const std::string torn = attempt(1, 10);
  std::filesystem::resize_file(dir_ / torn, std::filesystem::file_size(dir_ / torn) - 3);
  const RunRecord run = read();
  EXPECT_EQ(find_curve(run, "loss")->points.size(), 9u);
  ASSERT_EQ(run.problems.size(), 1u);
  EXPECT_FALSE(run.problems[0].damage);
}

TEST_F(RunDirectoryTest, HistogramsImagesAndTextsAreThoseThatAPageShows) {
  const std::string png = "\x89PNG\r\n\x1a\n and more";
  attempt(1, 3, "", [&](EventWriter& w) {
    for (std::int64_t step = 1; step <= 30; ++step) add_histogram(w, "weights", step), add_image(w, "digit", png, step);
    add_image(w, "wrong", "no image", 1);
    add_text(w, "sample", "it was");
    add_text(w, "sample", "it is");
  });
  const Pictures pictures = read().pictures;
  ASSERT_EQ(pictures.histograms.size(), 1u);
  EXPECT_EQ(pictures.histograms[0].steps.size(), 10u);
  EXPECT_EQ(pictures.histograms[0].steps.back().step, 30);
  const auto& buckets = pictures.histograms[0].steps[0].buckets;
  ASSERT_EQ(buckets.size(), 3u);
  EXPECT_EQ(buckets[0].left, -1);
  EXPECT_EQ(buckets[2].right, 2);
  ASSERT_EQ(pictures.images.size(), 1u);
  EXPECT_EQ(pictures.images[0].steps.size(), 4u);
  EXPECT_EQ(pictures.images[0].steps[0].bytes, png);
  EXPECT_EQ(pictures.images[0].steps[0].type, "image/png");
  EXPECT_THAT(pictures.left_out, ElementsAre(HasSubstr("the image wrong of step 1, which is no PNG, JPEG or GIF")));
  ASSERT_EQ(pictures.texts.size(), 1u);
  EXPECT_EQ(pictures.texts[0].text, "it is");
}

TEST_F(RunDirectoryTest, WhatIsNoRunIsSaid) {
  const auto message = [&](const std::string& path) -> std::string {
    try {
      read_run(posix_file_system(), path, log_);
    } catch (const Error& e) {
      return std::string(e.message());
    }
    return "";
  };
  EXPECT_THAT(message(dir_ / "none"), HasSubstr("there is no '"));
  EXPECT_THAT(message(dir_.path()),
              HasSubstr("holds neither event files (events.out.tfevents.*) nor checkpoints; name a "
                        "run's directory, which is `run.dir` of its manifest"));
  std::ofstream(dir_ / "file") << "x";
  EXPECT_THAT(message(dir_ / "file"), HasSubstr("is a file; name a run's directory"));
}

}  // namespace
}  // namespace belay::runtime
