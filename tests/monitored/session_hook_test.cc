// SPDX-License-Identifier: Apache-2.0
#include "runtime/monitored/hooks/session_hook.h"

#include <gmock/gmock.h>

#include "belay/testing/allocations.h"
#include "runtime/checkpoint/format/state_data.h"
#include "runtime/checkpoint/read/run_state.h"
#include "runtime/monitored/hooks/state_service.h"
#include "tests/monitored/monitored_fixture.h"

BELAY_COUNT_ALLOCATIONS

namespace belay::runtime::testing {
namespace {

class SessionHookTest : public MonitoredTest {
 protected:
  void begin() { hooks.begin(graph); }
  DirectSession& open() {
    graph.finalize();
    session_ = std::make_shared<DirectSession>(graph, std::make_shared<VariableStore>(), environment.session);
    return *session_;
  }

 private:
  std::shared_ptr<DirectSession> session_;
};

TEST(SessionCodes, TwoCodesRecoverAndTwoEndTheInput) {
  struct Case {
    Code code;
    bool preemption, end_of_input;
  };
  const Case cases[] = {{Code::kAborted, true, false},    {Code::kUnavailable, true, false},
                        {Code::kOutOfRange, false, true}, {Code::kStop, false, true},
                        {Code::kDiverged, false, false},  {Code::kCancelled, false, false},
                        {Code::kInternal, false, false},  {Code::kDeadlineExceeded, false, false}};
  for (const Case& c : cases) {
    EXPECT_EQ(is_preemption(c.code), c.preemption) << code_name(c.code);
    EXPECT_EQ(is_end_of_input(c.code), c.end_of_input) << code_name(c.code);
  }
}

TEST_F(SessionHookTest, EveryPhaseGoesInTheOrderOfTheHooks) {
  add_probe("x");
  add_probe("y");
  begin();
  DirectSession& session = open();
  hooks.load_states({}, *log);
  hooks.after_create_session(session);
  hooks.before_save(session, 7);
  EXPECT_EQ(hooks.after_save(session, 7, "/run/model.ckpt-7"), "");
  hooks.end(session);
  hooks.on_error(Error(Code::kInternal, "late"));
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "y.begin", "x.load_state", "y.load_state", "x.after_create_session",
                                    "y.after_create_session", "x.before_save 7", "y.before_save 7", "x.after_save 7",
                                    "y.after_save 7", "x.end", "y.end", "x.on_error", "y.on_error"}));
}

TEST_F(SessionHookTest, AnErrorNamesTheHookAndTheCallbackAndEndsThePhase) {
  add_probe("x").in["begin"] = [] { fail(Code::kNotFound, "no node \"loss\""); };
  add_probe("y");
  EXPECT_EQ(error_of([&] { begin(); }), "NOT_FOUND: hook \"x\" in begin: no node \"loss\"");
  EXPECT_EQ(new_events(), (Timeline{"x.begin"}));
  EXPECT_EQ(hooks.disabled(), std::vector<std::string>{});
}

TEST_F(SessionHookTest, WithOnErrorDisableTheHookIsLeftOutFromThenOn) {
  add_probe("x", OnHookError::kDisable).in["begin"] = [] { fail(Code::kNotFound, "no node \"loss\""); };
  add_probe("y");
  begin();
  DirectSession& session = open();
  hooks.after_create_session(session);
  hooks.end(session);
  hooks.on_error(Error(Code::kInternal, "late"));
  EXPECT_EQ(new_events(), (Timeline{"x.begin", "y.begin", "y.after_create_session", "y.end", "y.on_error"}));
  EXPECT_EQ(hooks.disabled(), (std::vector<std::string>{"hook \"x\""}));
  EXPECT_TRUE(hooks.all()[0].disabled());
  EXPECT_FALSE(hooks.all()[1].disabled());
  EXPECT_TRUE(
      logged("hook \\\"x\\\" in begin: no node \\\"loss\\\"; on_error = \\\"disable\\\": it is left out from here on"))
      << log_text;
}

TEST_F(SessionHookTest, EachCallbackMayFailAndIsThenNamedOrLeftOut) {
  DirectSession& session = open();
  const std::map<std::string, std::function<void()>> phases = {
      {"begin", [&] { begin(); }},
      {"load_state", [&] { hooks.load_states({}, *log); }},
      {"after_create_session", [&] { hooks.after_create_session(session); }},
      {"before_save", [&] { hooks.before_save(session, 7); }},
      {"after_save", [&] { hooks.after_save(session, 7, "/run/model.ckpt-7"); }},
      {"end", [&] { hooks.end(session); }},
  };
  for (const auto& [callback, phase] : phases) {
    for (const OnHookError policy : {OnHookError::kStop, OnHookError::kDisable}) {
      hooks = HookSet();
      add_probe("x", policy).in[callback] = [] { throw std::runtime_error("boom"); };
      add_probe("y");
      new_events();
      const std::string error = error_of(phase);
      if (policy == OnHookError::kStop) {
        EXPECT_EQ(error, "UNKNOWN: hook \"x\" in " + callback + ": boom");
        EXPECT_EQ(new_events().size(), 1u) << callback << ": the phase goes on";
      } else {
        EXPECT_EQ(error, "no error");
        EXPECT_EQ(new_events().size(), 2u) << callback << ": the phase ends";
        EXPECT_EQ(hooks.disabled(), (std::vector<std::string>{"hook \"x\""})) << callback;
      }
    }
  }
}

TEST_F(SessionHookTest, CodesThatSteerTheSessionAreNeverTakenForAFailureOfTheHook) {
  struct Case {
    Code code;
    bool goes_through;
  };
  // OUT_OF_RANGE and STOP steer nothing from begin.
  const Case cases[] = {{Code::kAborted, true},    {Code::kUnavailable, true}, {Code::kOutOfRange, false},
                        {Code::kStop, false},      {Code::kDiverged, true},    {Code::kInternal, false},
                        {Code::kCancelled, false}, {Code::kUnknown, false}};
  for (const Case& c : cases) {
    hooks = HookSet();
    add_probe("x", OnHookError::kDisable).in["begin"] = [&] { fail(c.code, "text"); };
    EXPECT_EQ(error_of([&] { begin(); }),
              c.goes_through ? std::string(code_name(c.code)) + ": hook \"x\" in begin: text" : "no error");
    EXPECT_EQ(hooks.disabled().empty(), c.goes_through) << code_name(c.code);
  }
}

TEST_F(SessionHookTest, OnErrorTellsEveryHookWhateverTheyAnswer) {
  Probe& x = add_probe("x");
  Probe& y = add_probe("y");
  x.in["on_error"] = [] { fail(Code::kAborted, "not now"); };
  hooks.on_error(Error(Code::kDiverged, "the loss is nan"));
  EXPECT_EQ(x.error, "DIVERGED: the loss is nan");
  EXPECT_EQ(y.error, "DIVERGED: the loss is nan");
}

TEST_F(SessionHookTest, B_04a_AfterSaveGetsStepAndPathOfWhatIsOnTheDisk) {
  Probe& x = add_probe("x");
  hooks.after_save(open(), 7, "/run/model.ckpt-7");
  EXPECT_EQ(new_events(), (Timeline{"x.after_save 7"}));
  EXPECT_EQ(x.saved_path, "/run/model.ckpt-7");
}

TEST_F(SessionHookTest, TheFirstHookThatAsksToStopAfterASaveIsNamedAndAllAreAsked) {
  add_probe("x");
  add_probe("y").stop_after_save = true;
  add_probe("z").stop_after_save = true;
  EXPECT_EQ(hooks.after_save(open(), 3, "/run/model.ckpt-3"), "y");
  EXPECT_EQ(new_events(), (Timeline{"x.after_save 3", "y.after_save 3", "z.after_save 3"}));
}

// ----- which slots a hook has
// ------------------------------------------------------------------------------------------

class OnlyBegins final : public Hook {
 public:
  void begin(Graph&) override {}
};

class OnlyLooks final : public Hook {
 public:
  void after_run(RunContext&, const RunValues&) override {}
};

TEST_F(SessionHookTest, KnowsWhichCallsRoundARunAHookHas) {
  add_probe("both");
  add_hook("neither", std::make_unique<OnlyBegins>());
  add_hook("looks", std::make_unique<OnlyLooks>());
  struct Slots {
    bool before_run, after_run;
  };
  const Slots expected[] = {{true, true}, {false, false}, {false, true}};
  for (std::size_t i = 0; i < hooks.size(); ++i) {
    EXPECT_EQ(hooks.all()[i].has_before_run(), expected[i].before_run) << hooks.all()[i].name();
    EXPECT_EQ(hooks.all()[i].has_after_run(), expected[i].after_run) << hooks.all()[i].name();
  }
}

// ----- state
// -----------------------------------------------------------------------------------------------------------

// One entry of every type that a state can hold.
class Keeper final : public Hook {
 public:
  bool flag = false;
  std::int64_t count = 0;
  double best = 0;
  std::string name;
  std::vector<double> losses;
  std::vector<std::int64_t> steps;
  bool has_flag = false;

  void save_state(StateWriter& to) const override {
    to.put("flag", flag);
    to.put("count", count);
    to.put("best", best);
    to.put("name", name);
    to.put("losses", losses);
    to.put("steps", steps);
  }
  void load_state(const StateReader& from) override {
    has_flag = from.has("flag");
    flag = from.flag("flag");
    count = from.integer("count", -1);
    best = from.number("best", -1);
    name = from.text("name", "fresh");
    losses = from.numbers("losses");
    steps = from.integers("steps");
  }
};

TEST_F(SessionHookTest, AStateOfEveryTypeComesBack) {
  Keeper& saved = add_hook("keeper", std::make_unique<Keeper>());
  saved.flag = true;
  saved.count = -5;
  saved.best = 0.1;
  saved.name = "x\ny";
  saved.losses = {0.5, 0.25};
  saved.steps = {1, 2, 3};
  const auto states = hooks.save_states();
  ASSERT_EQ(states.size(), 1u);
  hooks = HookSet();
  Keeper& loaded = add_hook("keeper", std::make_unique<Keeper>());
  hooks.load_states(states, *log);
  EXPECT_TRUE(loaded.has_flag);
  EXPECT_TRUE(loaded.flag);
  EXPECT_EQ(loaded.count, -5);
  EXPECT_EQ(loaded.best, 0.1);
  EXPECT_EQ(loaded.name, "x\ny");
  EXPECT_EQ(loaded.losses, (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(loaded.steps, (std::vector<std::int64_t>{1, 2, 3}));
}

TEST_F(SessionHookTest, WithoutAStoredStateEveryKeyIsAbsent) {
  Keeper& keeper = add_hook("keeper", std::make_unique<Keeper>());
  hooks.load_states({}, *log);
  EXPECT_FALSE(keeper.has_flag);
  EXPECT_EQ(keeper.count, -1);
  EXPECT_EQ(keeper.best, -1);
  EXPECT_EQ(keeper.name, "fresh");
  EXPECT_TRUE(keeper.losses.empty());
}

TEST_F(SessionHookTest, StatesGoByTheInstancesNameAndHooksWithoutAreLeftOut) {
  add_probe("x").state = 1;
  add_probe("stateless");
  add_probe("y").state = 2;
  const auto states = hooks.save_states();
  ASSERT_EQ(states.size(), 2u);
  EXPECT_EQ(std::get<std::int64_t>(states.at("x").entries.at("state")), 1);
  EXPECT_EQ(std::get<std::int64_t>(states.at("y").entries.at("state")), 2);

  hooks = HookSet();  // another order, one hook less, one more
  Probe& y = add_probe("y");
  Probe& fresh = add_probe("fresh");
  hooks.load_states(states, *log);
  EXPECT_EQ(y.state, 2);
  EXPECT_EQ(fresh.state, -1);
  EXPECT_FALSE(logged("hook 'y'")) << log_text;
}

TEST_F(SessionHookTest, T_63h_TheStateOfAHookThatIsGoneIsAWarning) {
  add_probe("x").state = 1;
  const auto states = hooks.save_states();
  hooks = HookSet();
  hooks.load_states(states, *log);
  EXPECT_TRUE(
      logged("\"warning\",\"source\":\"\",\"message\":\"the checkpoint holds state of hook 'x', which this run "
             "has not got; it is not in the checkpoints that follow\""))
      << log_text;
}

TEST_F(SessionHookTest, AStateOfAnotherTypeIsAnErrorThatNamesTheKey) {
  struct Case {
    const char* key;
    StateValue value;
    const char* what;
  };
  const Case cases[] = {{"count", std::string("7"), "an integer"},
                        {"best", std::string("7"), "a number"},
                        {"name", std::int64_t{7}, "a string"},
                        {"losses", 7.0, "a list"},
                        {"steps", std::vector<double>{7}, "a list"}};
  add_hook("keeper", std::make_unique<Keeper>());
  for (const Case& c : cases) {
    const std::map<std::string, HookState> states{{"keeper", {{{c.key, c.value}}}}};
    EXPECT_EQ(
        error_of([&] { hooks.load_states(states, *log); }),
        std::string("DATA_LOSS: hook \"keeper\" in load_state: the stored state's '") + c.key + "' is not " + c.what);
  }
}

// A hook whose save_state and load_state are the test's.
class Scripted final : public Hook {
 public:
  std::function<void(StateWriter&)> save = [](StateWriter&) {};
  std::function<void(const StateReader&)> load = [](const StateReader&) {};
  void save_state(StateWriter& to) const override { save(to); }
  void load_state(const StateReader& from) override { load(from); }
};

class StateTensors : public SessionHookTest {
 protected:
  Scripted& add(const std::string& name = "keeper") { return add_hook(name, std::make_unique<Scripted>()); }
};

TEST_F(StateTensors, B_08a_TheNextSaveGetsTheSameMemoryAndAllocatesNothing) {
  std::vector<void*> memory;
  std::vector<std::uint64_t> allocated_by;
  const Dims dims{100, 30};
  add().save = [&](StateWriter& to) {
    const std::uint64_t before = belay::testing::allocations();
    const TensorView t = to.tensor("window", DType::kFloat32, dims);
    const std::uint64_t after = belay::testing::allocations();
    allocated_by.push_back(after - before);
    memory.push_back(t.mutable_data());
    EXPECT_EQ(t.dims(), dims);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(t.data()) % 64, 0u);
    EXPECT_FALSE(t.read_only());
    EXPECT_EQ(to.tensor("window", DType::kFloat32, dims).data(), t.data());
    std::fill_n(t.data<float>(), t.size(), static_cast<float>(memory.size()));
  };
  hooks.save_states();
  hooks.save_states();
  hooks.save_states();
  EXPECT_NE(allocated_by[0], 0u);
  EXPECT_EQ(allocated_by[1], 0u);
  EXPECT_EQ(allocated_by[2], 0u);
  EXPECT_EQ(memory[1], memory[0]);
  EXPECT_EQ(memory[2], memory[0]);
}

// While a save of before still holds it, as one that is being written.
TEST_F(StateTensors, B_08a_MemoryThatACopyHoldsIsNotWrittenAgain) {
  float value = 1;
  add().save = [&](StateWriter& to) { *to.tensor("x", DType::kFloat32, {}).data<float>() = value; };
  const std::map<std::string, HookState> first = hooks.save_states();
  value = 2;
  hooks.save_states();
  const auto& kept = std::get<StateTensor>(first.at("keeper").entries.at("x"));
  EXPECT_EQ(*static_cast<const float*>(kept.memory.get()), 1.0f);
}

TEST_F(StateTensors, B_08a_ATensorComesBackReadOnly) {
  Scripted& saving = add();
  saving.save = [](StateWriter& to) {
    const TensorView t = to.tensor("t", DType::kInt32, {2, 2});
    for (int i = 0; i < 4; ++i) t.data<std::int32_t>()[i] = i;
    to.tensor("none", DType::kBool, {3, 0});
    to.put("n", 7);
  };
  const auto states = hooks.save_states();
  bool loaded = false;
  saving.load = [&](const StateReader& from) {
    loaded = true;
    const TensorView t = from.tensor("t");
    EXPECT_TRUE(t.read_only());
    EXPECT_EQ(t.dims(), (Dims{2, 2}));
    EXPECT_EQ(t.data<const std::int32_t>()[3], 3);
    EXPECT_EQ(from.tensor("t").data(), t.data());
    EXPECT_EQ(from.tensor("none").dims(), (Dims{3, 0}));
    EXPECT_FALSE(from.tensor("absent").has_value());
    EXPECT_EQ(error_of([&] { from.tensor("n"); }), "DATA_LOSS: the stored state's 'n' is not a tensor");
    EXPECT_EQ(from.keys(), (std::vector<std::string>{"n", "none", "t"}));
    EXPECT_EQ(from.written_by(), "");
  };
  hooks.load_states(states, *log);
  EXPECT_TRUE(loaded);
}

TEST_F(StateTensors, B_08b_KeysAndVersionAreThoseOfTheStoredState) {
  std::map<std::string, HookState> states{{"keeper", {{{"b", std::int64_t{1}}, {"a", true}}, "3.4"}}};
  Scripted& hook = add();
  std::vector<std::string> keys;
  std::string version;
  hook.load = [&](const StateReader& from) { keys = from.keys(), version = from.written_by(); };
  hooks.load_states(states, *log);
  EXPECT_EQ(keys, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(version, "3.4");
  hooks.load_states({}, *log);
  EXPECT_TRUE(keys.empty());
  EXPECT_EQ(version, "");
}

TEST_F(StateTensors, B_08a_WhatIsNoTensorIsRefusedByItsKey) {
  const struct {
    std::function<void(StateWriter&)> save;
    const char* expected;
  } cases[] = {
      {[](StateWriter& to) { to.tensor("k", DType::kString, {2}); },
       "[B5081] state 'k' is to be a tensor of strings, which is not kept: put a list of strings"},
      {[](StateWriter& to) { to.tensor("k", static_cast<DType>(99), {2}); },
       "[B5081] state 'k' is to have the unknown dtype 99"},
      {[](StateWriter& to) { to.tensor("k", DType::kInt32, Dims(65, 1)); }, "[B5081] state 'k' is to have rank 65"},
      {[](StateWriter& to) { to.tensor("k", DType::kInt32, {-1}); }, "[B5081] state 'k' has no size: int32 [?]"},
      {[](StateWriter& to) {
         to.tensor("k", DType::kInt32, {INT64_MAX, 2});
       },
       "[B5081] state 'k' has no size: int32 [9223372036854775807, 2]"},
      {[](StateWriter& to) { to.tensor("\xff", DType::kInt32, {2}); }, "[B4005] the key \"\\xff\" is not UTF-8"},
      {[](StateWriter& to) { to.put("\xff", 2); }, "[B4005] the key \"\\xff\" is not UTF-8"},
      {[](StateWriter& to) { to.put("k", 2), to.tensor("k", DType::kInt32, {2}); },
       "[B5081] state 'k' has a value in this save; a key has one of the two"},
      {[](StateWriter& to) { to.tensor("k", DType::kInt32, {2}), to.put("k", 2); },
       "[B5081] state 'k' has a tensor in this save; a key has one of the two"},
      {[](StateWriter& to) {
         to.tensor("k", DType::kInt32, {2}), to.tensor("k", DType::kInt32, {2, 1});
       },
       "[B5081] state 'k' is int32 [2] in this save, and is asked for as int32 [2, 1]"},
  };
  Scripted& hook = add();
  for (const auto& c : cases) {
    hook.save = c.save;
    EXPECT_EQ(error_of([&] { hooks.save_states(); }),
              std::string("INVALID_ARGUMENT: hook \"keeper\" in save_state: ") + c.expected);
  }
}

TEST_F(StateTensors, B_08d_ThePutThatPassesSixteenMebibytesIsNamed) {
  int puts = 0;
  const std::string mebibyte(std::size_t{1} << 20, 'x');
  const auto fill = [&](StateWriter& to, int n) {
    for (int i = 0; i < n; ++i) to.put("text " + std::to_string(i), mebibyte), ++puts;
  };
  add("first").save = [&](StateWriter& to) {
    fill(to, 8);
    to.put("text 7", "short");                       // the last put counts
    to.tensor("large", DType::kUInt8, {100 << 20});  // is not among them
  };
  add("second").save = [&](StateWriter& to) { fill(to, 9); };
  const std::string error = error_of([&] { hooks.save_states(); });
  EXPECT_EQ(puts, 8 + 8);
  EXPECT_THAT(
      error, ::testing::StartsWith("RESOURCE_EXHAUSTED: hook \"second\" in save_state: [B5081] with state 'text 8' the "
                                   "values of all hooks' states have 167"));
  EXPECT_THAT(error, ::testing::EndsWith(" bytes as JSON, at most 16777216 are kept; keep what is large in a tensor "
                                         "(StateWriter::tensor)"));
}

// The file could not be read back with this.
TEST_F(StateTensors, B_08d_ThePutThatPassesTheNumberOfValuesIsNamed) {
  std::size_t n = 350'000;
  add().save = [&](StateWriter& to) { to.put("list", std::vector<std::int64_t>(n)); };
  EXPECT_THAT(
      error_of([&] { hooks.save_states(); }),
      ::testing::HasSubstr("[B5081] with state 'list' the values of all hooks' states have 350004 numbers, strings and "
                           "keys, at most 350000 are kept"));
  n = 349'996;
  RunState state;
  state.hook_states = hooks.save_states();
  EXPECT_EQ(parse_run_state(format_run_state(state)).hook_states, state.hook_states);
}

TEST(StateAccess, B_08a_NothingIsWrittenInLoadState) {
  const HookState stored;
  HookStateAccess access(stored);
  StateWriter writer(state_service(), access.handle());
  EXPECT_EQ(error_of([&] { writer.put("k", 1); }),
            "FAILED_PRECONDITION: [B5081] a hook's state is written in save_state; `put` was called in load_state");
  EXPECT_EQ(error_of([&] { writer.tensor("k", DType::kInt32, {1}); }),
            "FAILED_PRECONDITION: [B5081] a hook's state is written in save_state; `tensor` was called in load_state");
}

// Its code was OUT_OF_RANGE, which ended the training of a hook that handed it on.
TEST(StateAccess, T_141_AKeyThatIsNotThereIsAnInvalidArgument) {
  const HookState stored{{{"a", true}}, ""};
  HookStateAccess access(stored);
  belay_str key{};
  belay::detail::Status status;
  EXPECT_EQ(state_service()->key(access.handle(), 1, &key, status), BELAY_INVALID_ARGUMENT);
  EXPECT_EQ(status.message(), "[B5081] the state has 1 keys, there is no key 1");
}

TEST_F(StateTensors, OfAHookThatIsLeftOutNothingIsSaved) {
  add_hook("keeper", std::make_unique<Scripted>(), OnHookError::kDisable).save = [](StateWriter& to) {
    to.put("half", 1);
    fail(Code::kInternal, "lost the rest");
  };
  EXPECT_TRUE(hooks.save_states().empty());
}

}  // namespace
}  // namespace belay::runtime::testing
