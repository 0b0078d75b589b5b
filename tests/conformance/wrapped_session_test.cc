// SPDX-License-Identifier: Apache-2.0
// Every layer of a session does this: section 8 of the contract.
#include <functional>
#include <memory>

#include "runtime/monitored/layers/session_layer.h"
#include "tests/monitored/monitored_fixture.h"
#include "tests/monitored/scripted_layer.h"

namespace belay::runtime::testing {
namespace {

// A layer whose own check is the test's.
class Checking final : public SessionLayer {
 public:
  Checking(std::unique_ptr<SessionLayer> inner, std::function<bool()> check)
      : SessionLayer(std::move(inner)), check_(std::move(check)) {}

 protected:
  bool check_stop() override { return check_(); }

 private:
  std::function<bool()> check_;
};

class WrappedConformance : public MonitoredTest {
 protected:
  std::unique_ptr<RawLayer> raw_layer() {
    graph.finalize();
    raw = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    return std::make_unique<RawLayer>(raw);
  }
  std::unique_ptr<ScriptedLayer> closing_with(Code code) {
    ScriptedLayer::Script script;
    script.close = [this, code] {
      ++closes;
      if (code != Code::kOk) fail(code, "of the inner session");
    };
    return std::make_unique<ScriptedLayer>(script);
  }

  std::shared_ptr<DirectSession> raw;
  int closes = 0;
};

TEST_F(WrappedConformance, WRAP_01_TheGraphIsTheInnerSessions) {
  SessionLayer outer(std::make_unique<SessionLayer>(raw_layer()));
  ASSERT_EQ(outer.raw(), raw.get());
  EXPECT_EQ(&outer.raw()->graph(), &graph);
}

TEST_F(WrappedConformance, WRAP_03_ItsOwnCheckDecides) {
  int asked = 0;
  Checking session(raw_layer(), [&] { return ++asked > 3; });
  for (const bool expected : {false, false, false, true}) EXPECT_EQ(session.should_stop(), expected) << asked;
}

TEST_F(WrappedConformance, WRAP_04_AnOuterLayerStopsWhenTheInnerOneDoes) {
  bool stop = false;
  SessionLayer outer(std::make_unique<SessionLayer>(std::make_unique<Checking>(raw_layer(), [&] { return stop; })));
  EXPECT_FALSE(outer.should_stop());
  stop = true;
  EXPECT_TRUE(outer.should_stop());
}

TEST_F(WrappedConformance, WRAP_05_ClosingTwiceIsHarmless) {
  SessionLayer session(closing_with(Code::kOk));
  session.close();
  session.close();
  EXPECT_EQ(closes, 1);
}

TEST_F(WrappedConformance, WRAP_06_ARunPassesThroughWithItsFeeds) {
  const Output fed = ops::placeholder(g, DType::kInt64, {}, "fed");
  const Output doubled = ops::add(fed, fed, "doubled");
  SessionLayer session(std::make_unique<SessionLayer>(raw_layer()));
  FetchSet set({doubled});
  const Tensor value(std::int64_t{12});
  const belay_feed feeds[] = {{fed.raw(), value.view()}};
  RunCall call;
  call.fetches = &set;
  call.feeds = feeds;
  const auto run = session.run(call);
  EXPECT_EQ(TensorView(run.result(set, 0)).scalar<std::int64_t>(), 24);
}

TEST_F(WrappedConformance, WRAP_07_CloseSwallowsPreemptionWithAWarningAndDropsTheInnerSession) {
  struct Case {
    Code code;
    const char* thrown;
    bool warned;
  };
  const Case cases[] = {{Code::kOk, "no error", false},
                        {Code::kAborted, "no error", true},
                        {Code::kUnavailable, "no error", true},
                        {Code::kInternal, "INTERNAL: of the inner session", false},
                        {Code::kOutOfRange, "OUT_OF_RANGE: of the inner session", false}};
  for (const Case& c : cases) {
    log_text.clear();
    SessionLayer session(closing_with(c.code), log.get());
    EXPECT_EQ(error_of([&] { session.close(); }), c.thrown);
    EXPECT_EQ(logged("while the session was closed: of the inner session"), c.warned) << log_text;
    EXPECT_TRUE(session.should_stop());
    EXPECT_EQ(session.raw(), nullptr);
  }
}

TEST_F(WrappedConformance, PROSE_08_ClosedItStopsWhateverTheInnerSessionWouldSay) {
  Checking session(raw_layer(), [] { return false; });
  EXPECT_FALSE(session.should_stop());
  session.close();
  EXPECT_TRUE(session.should_stop());
  EXPECT_TRUE(raw->closed());
}

}  // namespace
}  // namespace belay::runtime::testing
