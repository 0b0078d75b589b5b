// SPDX-License-Identifier: Apache-2.0
#include "belay/output_file.h"

#include <gtest/gtest.h>

#include <string>

#include "belay/testing/testing.h"

namespace belay_sdk_test {
namespace {

using belay::testing::error_of;

TEST(OutputFile, T_167_ANameOfTheRunsOwnFilesIsRefused) {
  for (const std::string name : {"lock",
                                 "checkpoint",
                                 "checkpoint.tmp",
                                 "best",
                                 "best.tmp",
                                 "manifest.toml",
                                 "manifest-0001.toml",
                                 "metrics.jsonl",
                                 "attempt",
                                 "attempts",
                                 "finished",
                                 "evaluations",
                                 "eval",
                                 "eval_hard",
                                 "export",
                                 "rendezvous",
                                 "report.html",
                                 "schema.json",
                                 "before-1",
                                 "events.out.tfevents.1.host",
                                 "model.ckpt-20",
                                 "model.ckpt-20.tmp-5f0c",
                                 ".",
                                 ".."})
    EXPECT_EQ(error_of([&] { belay::check_file_name("output_file", name); }),
              "INVALID_ARGUMENT: 'output_file' is '" + name + "', which is the run's own file; give another name");
  for (const std::string name :
       {"", "metrics.csv", "samples.jsonl", "locks", "best.json", "model.txt", "evaluation.csv"})
    EXPECT_EQ(error_of([&] { belay::check_file_name("output_file", name); }), "") << name;
  EXPECT_EQ(error_of([&] { belay::check_file_name("output_file", "a/b"); }),
            "INVALID_ARGUMENT: 'output_file' is 'a/b'; give a name without '/'");
}

TEST(OutputFile, T_167_AHookThatAddsLinesMayShareTheMetrics) {
  EXPECT_EQ(error_of([&] { belay::check_file_name("output_file", "metrics.jsonl", "metrics.jsonl"); }), "");
  EXPECT_NE(error_of([&] { belay::check_file_name("output_file", "lock", "metrics.jsonl"); }), "");
}

}  // namespace
}  // namespace belay_sdk_test
