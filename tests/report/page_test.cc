// SPDX-License-Identifier: Apache-2.0
#include "runtime/report/page.h"

#include <gmock/gmock.h>

#include <regex>
#include <utility>

#include "tests/report/run_directory_fixture.h"

namespace belay::runtime {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class PageTest : public RunDirectoryTest {
 protected:
  std::string page() { return page_of({read()}, 0); }
};

TEST_F(PageTest, HasASectionForAllThatIsThereAndForNothingElse) {
  attempt(1, 20), attempt(11, 30, "", [&](EventWriter& w) {
    finish(w);
    w.add_scalar("learning_rate", 30, 0.1);
    add_histogram(w, "weights", 30);
  });
  attempt(1, 30, "eval");
  const std::string html = page();
  for (const char* heading : {"Metrics", "Learning rate", "Best and last values", "Attempts and time", "Histograms"})
    EXPECT_THAT(html, HasSubstr(">" + std::string(heading) + "</h2>"));
  for (const char* heading : {"Images", "Texts", "Checkpoints", "Model", "Manifest"})
    EXPECT_THAT(html, Not(HasSubstr(">" + std::string(heading) + "</h2>")));
  EXPECT_THAT(html, HasSubstr("attempt 2 continues from step 10; the one before was cut off at step 20"));
  EXPECT_THAT(html, HasSubstr("10 values of steps that a later attempt did again are left out"));
  EXPECT_THAT(html, ContainsRegex("<span class=\"badge good\">finished</span>"));
}

TEST_F(PageTest, WhatTheFilesSayIsNeverMarkup) {
  const std::string hostile = "<script>alert('x')</script>";
  attempt(1, 2, "", [&](EventWriter& w) { add_text(w, "sample", hostile + "\n\"&\x01"); });
  attempt(1, 2, "<b onmouseover=");
  manifest(1, "note = \"" + hostile + "\"\n");
  const std::string html = page();
  EXPECT_THAT(html, Not(HasSubstr("<script")));
  EXPECT_THAT(html, Not(HasSubstr("<b ")));
  EXPECT_THAT(html, HasSubstr("&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;\n&quot;&amp;\\x01"));
  EXPECT_THAT(html, HasSubstr("<code>&quot;&lt;script&gt;alert("));
  EXPECT_THAT(html, HasSubstr("&lt;b onmouseover="));
}

TEST_F(PageTest, OneMeasureOfSeveralVariablesIsOneDrawing) {
  attempt(1, 2, "", [](EventWriter& w) {
    for (const char* tag : {"norm/a/kernel", "norm/b/kernel", "system/memory", "system/threads", "steps/sec"})
      w.add_scalar(tag, 2, 1);
  });
  const std::string html = page();
  for (const char* title : {"loss", "norm/...", "system/memory", "system/threads", "steps/sec"})
    EXPECT_THAT(html, HasSubstr("<figcaption>" + std::string(title) + "<"));
  EXPECT_THAT(html, HasSubstr("</span>norm/b/kernel: last 1</span>"));
}

TEST_F(PageTest, SaysWhereTheTimeWentIfTheEventsDo) {
  attempt(1, 2, "", [&](EventWriter& w) {
    for (const auto& [step, share] : {std::pair{1, 0.25}, {2, 0.75}}) w.add_scalar("time/input_wait", step, share);
    w.add_scalar("time/of_another_kind", 1, 17);
  });
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("<td>input_wait</td><td class=\"n\">50 %</td>"));
  EXPECT_THAT(html, Not(HasSubstr("<td>of_another_kind</td>")));
}

TEST_F(PageTest, LoadsNothing) {
  attempt(1, 2, "", [&](EventWriter& w) { add_image(w, "digit", "\x89PNG\r\n\x1a\n", 1); });
  const std::string html = page();
  EXPECT_THAT(html, HasSubstr("default-src 'none'; style-src 'unsafe-inline'; img-src data:"));
  EXPECT_THAT(html, HasSubstr("src=\"data:image/png;base64,iVBORw0KGgo=\""));
  static const std::regex loads("(src|href)=\"(?!data:|#)");
  EXPECT_FALSE(std::regex_search(html, loads));
  EXPECT_THAT(html, Not(HasSubstr("url(")));
  EXPECT_THAT(html, Not(HasSubstr("@import")));
}

TEST_F(PageTest, SeveralRunsAreDrawnTogetherAndCompared) {
  attempt(1, 10);
  RunRecord a = read(), b = read();
  a.path = "runs/a", b.path = "runs/b";
  for (CurvePoint& p : b.curves[0].points) p.value /= 2;
  a.manifest = {{"optimizer", "learning_rate", "0.1"}, {"run", "dir", "\"a\""}};
  b.manifest = {{"optimizer", "learning_rate", "0.2"}, {"run", "dir", "\"b\""}};
  const std::string html = page_of({a, b}, 0);
  EXPECT_THAT(html, HasSubstr("<h1>2 runs</h1>"));
  EXPECT_THAT(html, HasSubstr("</span>runs/a: best 0.1 at step 10, last 0.1</span>"));
  EXPECT_THAT(html, HasSubstr("</span>runs/b: best 0.05 at step 10, last 0.05</span>"));
  EXPECT_THAT(html, HasSubstr("<code>optimizer.learning_rate</code>"));
  EXPECT_THAT(html, Not(HasSubstr("<code>run.dir</code></td><td")));
}

TEST_F(PageTest, AHundredThousandPointsOfManyTagsStaySmall) {
  RunRecord run;
  run.path = "runs/large";
  for (int tag = 0; tag < 500; ++tag) {
    Curve curve{".", "norm_" + std::to_string(tag), {}};
    for (std::int64_t step = 0; step < 200; ++step)
      curve.points.push_back({step, 1.0 / static_cast<double>(step + tag + 1)});
    run.curves.push_back(std::move(curve));
  }
  const std::string many = page_of({run}, 0);
  EXPECT_LT(many.size(), 3'000'000u);
  EXPECT_THAT(many, HasSubstr("380 more curves are left out"));
  run.curves.resize(1);
  run.curves[0].points.clear();
  for (std::int64_t step = 0; step < 100'000; ++step)
    run.curves[0].points.push_back({step, 1.0 + static_cast<double>(step % 7)});
  EXPECT_LT(page_of({run}, 0).size(), 100'000u);
}

}  // namespace
}  // namespace belay::runtime
