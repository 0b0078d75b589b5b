// SPDX-License-Identifier: Apache-2.0
#include "runtime/loader/instance/instance.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <malloc.h>
#include <omp.h>

#include <functional>
#include <iterator>
#include <limits>

#include "belay/testing/allocations.h"
#include "belay/testing/error_of.h"
#include "tests/loader/plugin_files.h"
#include "tests/platform/fake_clock.h"

BELAY_COUNT_ALLOCATIONS

// An instance that let an exception escape is not called again, not even to destroy it: what it holds is lost.
// [LeakSanitizer]
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:misbehaving";
}  // NOLINT
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_options() {  // NOLINT
  return "print_suppressions=0";
}

extern "C" const belay_module belay_module_loader_sample;

namespace belay::runtime {
namespace {

using belay::testing::error_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class InstanceTest : public ::testing::Test {
 protected:
  // Uses of tests/bad_plugins/misbehaving.cc.
  const RegisteredPlugin& misbehaving() {
    registry_.add_loaded(loader_.load(BELAY_BAD_PLUGIN_DIR "/misbehaving.so"));
    return *registry_.find(PluginKind::kHook, "misbehaving");
  }
  static ResolvedPlugin use_with(const RegisteredPlugin& plugin, const std::string& fault) {
    ResolvedPlugin use;
    use.info = plugin.info;
    use.file = plugin.file;
    use.instance_name = "x";
    use.at = {"train.toml", 14, 1};
    if (!fault.empty()) use.options.add("fault", fault, OptionType::kString);
    return use;
  }
  PluginInstance& make(const std::string& fault) {
    const RegisteredPlugin& plugin = misbehaving();
    return instances_.create(plugin, use_with(plugin, fault), services_, monitor_);
  }
  std::string begin_error(const std::string& fault) {
    PluginInstance& hook = make(fault);
    return error_of([&] { hook.call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr)); });
  }
  static void after_run(PluginInstance& hook) {
    hook.call("after_run", &belay_hook_api::after_run, static_cast<belay_run*>(nullptr),
              static_cast<const belay_run_values*>(nullptr));
  }

  RecordingLogger logger_;
  FakeClock clock_;
  HostServices services_{logger_, clock_, "", 1};
  FilePolicy policy_;
  const CpuFeatures cpu_;
  Loader loader_{policy_, cpu_, ""};
  Registry registry_;
  CallMonitor monitor_;
  PluginInstances instances_;
};

const std::string kLabel = "hook \"x\" of \"misbehaving\" (misbehaving.so 0.9, train.toml:14)";
const std::string kNoStop =
    "STOP ends no run from here: before_run, after_run and an input's next end one with it; after_save can ask to stop";

TEST_F(InstanceTest, ACallThatSucceedsAllocatesNothing) {
  PluginInstance& hook = make("");
  after_run(hook);
  const auto before = belay::testing::allocations();
  for (int i = 0; i < 100; ++i) after_run(hook);
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
}

TEST_F(InstanceTest, AnErrorNamesInstancePluginFileCallbackAndStep) {
  EXPECT_EQ(begin_error("no message"), "ABORTED: " + kLabel + " in begin: ABORTED, without a message");
  monitor_.step = 17;
  EXPECT_EQ(begin_error("no message"), "ABORTED: " + kLabel + " in begin at step 17: ABORTED, without a message");
  EXPECT_EQ(begin_error("stop"), "FAILED_PRECONDITION: " + kLabel + " in begin at step 17: enough (" + kNoStop + ")");
}

// The table in abi.h ("Codes that steer").
TEST_F(InstanceTest, T_141_CodesSteerARunFromTheCallbacksThatMayAndAreErrorsFromAllOthers) {
  struct Case {
    int code;
    std::string begin, before_run, after_run, before_save;
  };
  const std::string refused = "FAILED_PRECONDITION";
  const Case cases[] = {{BELAY_OUT_OF_RANGE, refused, refused, refused, refused},
                        {BELAY_STOP, refused, "STOP", "STOP", refused},
                        {BELAY_SKIP, refused, refused, refused, "SKIP"},
                        {BELAY_DIVERGED, "DIVERGED", "DIVERGED", "DIVERGED", "DIVERGED"},
                        {BELAY_ABORTED, "ABORTED", "ABORTED", "ABORTED", "ABORTED"}};
  const auto code_of = [](const std::string& error) { return error.substr(0, error.find(':')); };
  for (const Case& c : cases) {
    PluginInstance& hook = make("code " + std::to_string(c.code));
    const auto call = [&](Callback callback, auto slot, auto... args) {
      return code_of(error_of([&] { hook.call(callback, slot, args...); }));
    };
    belay_graph* graph = nullptr;
    belay_run* run = nullptr;
    belay_session* session = nullptr;
    EXPECT_EQ(call("begin", &belay_hook_api::begin, graph), c.begin);
    EXPECT_EQ(call("before_run", &belay_hook_api::before_run, run, static_cast<belay_run_args*>(nullptr)),
              c.before_run);
    EXPECT_EQ(call("after_run", &belay_hook_api::after_run, run, static_cast<const belay_run_values*>(nullptr)),
              c.after_run);
    EXPECT_EQ(call("before_save", &belay_hook_api::before_save, session, std::int64_t{7}), c.before_save);
  }
}

TEST_F(InstanceTest, T_141_ARefusedCodeIsInTheMessageWithWhatToDo) {
  EXPECT_EQ(begin_error("code 11"),
            "FAILED_PRECONDITION: " + kLabel +
                " in begin: on purpose (OUT_OF_RANGE ends no run from here: only an input's next ends one with it; a "
                "value that is out of its range is INVALID_ARGUMENT)");
  EXPECT_EQ(begin_error("code 102"), "FAILED_PRECONDITION: " + kLabel +
                                         " in begin: on purpose (SKIP leaves out no checkpoint from here: only "
                                         "before_save does)");
}

TEST_F(InstanceTest, AnUnknownCodeIsInternalAndShown) {
  EXPECT_EQ(begin_error("unknown code"), "INTERNAL: " + kLabel + " in begin: minus three (unknown status code -3)");
}

TEST_F(InstanceTest, TextIsCutAndEscapedToOneLine) {
  EXPECT_EQ(begin_error("megabyte"), "INTERNAL: " + kLabel + " in begin: " + std::string(4096, 'x'));
  EXPECT_EQ(begin_error("escapes"), "DATA_LOSS: " + kLabel + " in begin: two\\nlines \\x1b[31m and \\xff");
}

TEST_F(InstanceTest, T_27c_AMessageThatClaimsMoreThanItsBufferIsNotShown) {
  EXPECT_EQ(begin_error("says more than it wrote"),
            "INTERNAL: " + kLabel + " in begin: no message (its message claims more bytes than there is room for)");
}

TEST_F(InstanceTest, T_20p_WhatIsBeingCalledIsPublishedAsNumbersAndTakenBack) {
  const RegisteredPlugin& plugin = misbehaving();
  CallPlace place;
  monitor_.place = &place;
  monitor_.step = 17;
  PluginInstance& hook = instances_.create(plugin, use_with(plugin, ""), services_, monitor_, 5);
  EXPECT_EQ(place.call, 0u);
  EXPECT_FALSE(PluginInstance::current());
  const auto before = belay::testing::allocations();
  after_run(hook);
  EXPECT_EQ(belay::testing::allocations() - before, 0u);
  EXPECT_EQ(place.call, 0u);
  EXPECT_EQ(place.step, 17);
  monitor_.place = &monitor_.nowhere;  // the instance's destruction is a call, too
}

// A plugin whose one callback scribbles over the head of the struct that it is to fill.
enum class Scribble { kNoSize, kFlag };
Scribble scribble;
template <class T>
std::int32_t scribble_over(T* filled) {
  if (scribble == Scribble::kNoSize) *filled = T{};
  if (scribble == Scribble::kFlag) filled->flags = 1u << 31;
  return BELAY_OK;
}

template <class Api>
RegisteredPlugin made_up(PluginKind kind, const char* name) {
  RegisteredPlugin plugin;
  plugin.info.kind = kind;
  plugin.info.name = name;
  plugin.version = "1.0";
  Api table = detail::adopt(static_cast<const Api*>(nullptr));
  table.create = [](const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                    belay_status*) {
    *self = &scribble;
    return std::int32_t{BELAY_OK};
  };
  table.destroy = [](void*) {};
  plugin.table = table;
  return plugin;
}

// Calls a slot that fills one struct, and is last before the status.
template <class T, class Api, class... P>
std::string error_of_filling(PluginInstance& instance, Callback callback, std::int32_t (*Api::*slot)(void*, P...),
                             auto... before) {
  auto filled = detail::sized<T>();
  return error_of([&] { instance.call(callback, slot, before..., &filled); });
}

TEST_F(InstanceTest, T_145_EachStructThatAPluginFillsKeepsItsSizeAndHasNoUnknownFlag) {
  RegisteredPlugin hook = made_up<belay_hook_api>(PluginKind::kHook, "scribbles");
  RegisteredPlugin input = made_up<belay_input_api>(PluginKind::kInput, "scribbles");
  RegisteredPlugin op = made_up<belay_op_api>(PluginKind::kOp, "scribbles");
  RegisteredPlugin cluster = made_up<belay_cluster_api>(PluginKind::kCluster, "scribbles");
  auto& hooks = std::get<belay_hook_api>(hook.table);
  hooks.before_run = [](void*, belay_run*, belay_run_args* args, belay_status*) { return scribble_over(args); };
  hooks.after_save = [](void*, belay_session*, belay_saved* saved, belay_status*) { return scribble_over(saved); };
  std::get<belay_input_api>(input.table).next = [](void*, belay_batch*, belay_position* position, belay_status*) {
    return scribble_over(position);
  };
  std::get<belay_op_api>(op.table).traits = [](void*, belay_op_traits* traits, belay_status*) {
    return scribble_over(traits);
  };
  std::get<belay_cluster_api>(cluster.table).open = [](void*, const belay_cluster_args*, belay_cluster_place* place,
                                                       belay_status*) { return scribble_over(place); };
  PluginInstances instances;  // goes before the plugins
  const auto instance = [&](const RegisteredPlugin& plugin) -> PluginInstance& {
    ResolvedPlugin use;
    use.info = plugin.info;
    use.instance_name = "x";
    return instances.create(plugin, use, services_, monitor_);
  };
  PluginInstance &of_hook = instance(hook), &of_input = instance(input), &of_op = instance(op),
                 &of_cluster = instance(cluster);
  const auto errors = [&] {
    return std::vector<std::string>{
        error_of_filling<belay_run_args>(of_hook, "before_run", &belay_hook_api::before_run,
                                         static_cast<belay_run*>(nullptr)),
        error_of_filling<belay_saved>(of_hook, "after_save", &belay_hook_api::after_save,
                                      static_cast<belay_session*>(nullptr)),
        error_of_filling<belay_position>(of_input, "next", &belay_input_api::next, static_cast<belay_batch*>(nullptr)),
        error_of_filling<belay_op_traits>(of_op, "traits", &belay_op_api::traits),
        error_of_filling<belay_cluster_place>(of_cluster, "open", &belay_cluster_api::open,
                                              static_cast<const belay_cluster_args*>(nullptr))};
  };
  const std::vector<std::string> named = {
      "hook \"x\" of \"scribbles\" (linked in, 1.0) in before_run: belay_run_args has ",
      "hook \"x\" of \"scribbles\" (linked in, 1.0) in after_save: belay_saved has ",
      "input \"x\" of \"scribbles\" (linked in, 1.0) in next: belay_position has ",
      "op \"x\" of \"scribbles\" (linked in, 1.0) in traits: belay_op_traits has ",
      "cluster \"x\" of \"scribbles\" (linked in, 1.0) in open: belay_cluster_place has "};
  for (const auto& [how, code, what] :
       {std::tuple{Scribble::kNoSize, "INVALID_ARGUMENT: ", "struct_size 0: its owner sets it before the call"},
        std::tuple{Scribble::kFlag, "UNIMPLEMENTED: ", "the unknown flag 2147483648; this side was built before it"}}) {
    scribble = how;
    const std::vector<std::string> found = errors();
    for (std::size_t i = 0; i < named.size(); ++i) EXPECT_THAT(found[i], HasSubstr(code + named[i] + what));
  }
}

// The host reads a plugin's memory inside of the call, so that a crash there has its name.
TEST_F(InstanceTest, T_145_WhatACallbackLeftBehindIsReadInItsName) {
  PluginInstance& hook = make("");
  const auto take = [&] {
    const auto now = PluginInstance::current();
    ASSERT_TRUE(now);
    EXPECT_EQ(now->instance.label(), hook.label());
    EXPECT_EQ(std::string(now->callback), "begin");
    fail(Code::kInvalidArgument, "it returned nonsense");
  };
  EXPECT_EQ(
      error_of([&] { hook.call_and_take("begin", &belay_hook_api::begin, take, static_cast<belay_graph*>(nullptr)); }),
      "INVALID_ARGUMENT: " + kLabel + " in begin: it returned nonsense");
  EXPECT_FALSE(PluginInstance::current());
}

// Damage by one of them may show after it.
TEST_F(InstanceTest, T_145_TheLastCallsOfAThreadAreKnownUntilTheirInstanceEnds) {
  const RegisteredPlugin& plugin = misbehaving();
  auto hook = std::make_unique<PluginInstance>(plugin, use_with(plugin, ""), services_, monitor_);
  monitor_.step = 17;
  for (std::uint32_t i = 0; i < CallMonitor::kPastCalls + 2; ++i) after_run(*hook);
  const PastCall& last = monitor_.past[(monitor_.n_past - 1) % CallMonitor::kPastCalls];
  EXPECT_EQ(last.instance, hook.get());
  EXPECT_STREQ(last.callback, "after_run");
  EXPECT_EQ(last.step, 17);
  hook.reset();
  for (const PastCall& call : monitor_.past) EXPECT_EQ(call.instance, nullptr);
  EXPECT_NE(error_of([&] { make("throw in create"); }), "no error");
  for (const PastCall& call : monitor_.past) EXPECT_EQ(call.instance, nullptr);
}

TEST_F(InstanceTest, AnExceptionThatEscapesPoisonsTheInstance) {
  const struct {
    const char *fault, *text;
  } cases[] = {{"throw", "std::runtime_error: boom"},
               {"throw int", "int"},
               {"throw bad_alloc", "std::bad_alloc: std::bad_alloc"},
               {"throw without text", "(anonymous namespace)::Unspeakable: an exception without a message"}};
  monitor_.step = 3;
  for (const auto& c : cases) {
    PluginInstance& hook = make(c.fault);
    EXPECT_EQ(error_of([&] { after_run(hook); }),
              "UNKNOWN: " + kLabel +
                  " in after_run at step 3: [B2041] it let an exception escape, and is not called any more: " + c.text);
    EXPECT_TRUE(hook.poisoned());
    EXPECT_EQ(error_of([&] { after_run(hook); }), "FAILED_PRECONDITION: " + kLabel +
                                                      " in after_run at step 3: [B2041] it is not called any more, "
                                                      "since it let an exception escape from an earlier "
                                                      "call");
  }
}

TEST_F(InstanceTest, AFailingCreateNamesThePlaceInTheManifestAndTheFile) {
  const std::string head =
      "train.toml:14:1: cannot create hook \"x\" of \"misbehaving\" (misbehaving.so 0.9) of '" BELAY_BAD_PLUGIN_DIR
      "/misbehaving.so': ";
  EXPECT_EQ(error_of([&] { make("refuse"); }), "INVALID_ARGUMENT: " + head + "alpha must lie in (0, 1)");
  EXPECT_EQ(error_of([&] { make("throw in create"); }),
            "UNKNOWN: " + head + "it let an exception escape: std::invalid_argument: alpha must lie in (0, 1)");
  EXPECT_EQ(error_of([&] { make("unknown code in create"); }),
            "INTERNAL: " + head + "what is this (unknown status code 4711)");
  EXPECT_EQ(error_of([&] { make("no instance"); }), "INTERNAL: " + head + "it returned no instance (self is null)");
  EXPECT_EQ(monitor_.instance.load(), nullptr);
}

TEST_F(InstanceTest, WhateverCreateThrowsIsTold) {
  const struct {
    const char *fault, *text;
  } cases[] = {{"throw a text in create",
                "std::__cxx11::basic_string<char, std::char_traits<char>, "
                "std::allocator<char> >"},
               {"throw int in create", "int"},
               {"throw without text in create", "(anonymous namespace)::Unspeakable: an exception without a message"},
               {"throw bad_alloc in create", "std::bad_alloc: std::bad_alloc"}};
  for (const auto& c : cases)
    EXPECT_EQ(error_of([&] { make(c.fault); }),
              "UNKNOWN: train.toml:14:1: cannot create hook \"x\" of \"misbehaving\" (misbehaving.so 0.9) of "
              "'" BELAY_BAD_PLUGIN_DIR "/misbehaving.so': it let an exception escape: " +
                  std::string(c.text));
  EXPECT_NO_THROW(after_run(make("")));  // another instance of it is as good as before
}

TEST_F(InstanceTest, ADestroyThatThrowsLeavesTheOthersToBeDestroyed) {
  registry_.add_linked(&belay_module_loader_sample);
  {
    PluginInstances own;
    ResolvedPlugin use;
    use.info = registry_.find(PluginKind::kHook, "sample_hook")->info;
    use.instance_name = "first";
    use.options.add("tensors", std::vector<std::string>{"loss"}, OptionType::kString);
    own.create(*registry_.find(PluginKind::kHook, "sample_hook"), use, services_, monitor_);
    const RegisteredPlugin& plugin = misbehaving();
    own.create(plugin, use_with(plugin, "throw in destroy"), services_, monitor_);
  }
  EXPECT_EQ(logger_.lines.back(), "info first: destroyed");
}

TEST_F(InstanceTest, TenThousandLeaveNothingBehind) {
  const RegisteredPlugin& plugin = misbehaving();
  const ResolvedPlugin use = use_with(plugin, "");
  const auto open_files = [] {
    const std::filesystem::directory_iterator files("/proc/self/fd"), end;
    return std::distance(files, end);
  };
  const auto make_and_destroy = [&] { PluginInstances().create(plugin, use, services_, monitor_); };
  make_and_destroy();
  const auto files = open_files();
  [[maybe_unused]] const auto bytes = ::mallinfo2().uordblks;  // a sanitizer has its own allocator
  for (int i = 0; i < 10'000; ++i) make_and_destroy();
  EXPECT_EQ(open_files(), files);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  EXPECT_LT(::mallinfo2().uordblks, bytes + 10'000) << "an instance leaks a byte or more";
#endif
}

TEST_F(InstanceTest, AConstructorOfTheSdkThatThrowsIsItsOwnText) {
  registry_.add_loaded(loader_.load(BELAY_BAD_PLUGIN_DIR "/throwing_constructor.so"));
  const RegisteredPlugin& plugin = *registry_.find(PluginKind::kHook, "choosy");
  ResolvedPlugin use = use_with(plugin, "");
  use.instance_name = "choosy";
  use.at = {};
  use.options.add("alpha", 2.0, OptionType::kFloat);
  EXPECT_EQ(error_of([&] { instances_.create(plugin, use, services_, monitor_); }),
            "INVALID_ARGUMENT: cannot create hook \"choosy\" (throwing_constructor.so 1.0.0) of '" BELAY_BAD_PLUGIN_DIR
            "/throwing_constructor.so': alpha must lie in (0, 1)");
}

TEST_F(InstanceTest, AThrowingDestroyIsLogged) {
  {
    PluginInstances own;
    const RegisteredPlugin& plugin = misbehaving();
    own.create(plugin, use_with(plugin, "throw in destroy"), services_, monitor_);
  }
  EXPECT_THAT(logger_.lines,
              ElementsAre("error x: " + kLabel + " let an exception escape from destroy: std::runtime_error: not now"));
}

TEST_F(InstanceTest, InstancesOfTheSdkGetTheirOptionsAndDieInReverseOrder) {
  registry_.add_linked(&belay_module_loader_sample);
  const RegisteredPlugin& plugin = *registry_.find(PluginKind::kHook, "sample_hook");
  {
    PluginInstances own;
    for (const char* name : {"a", "b"}) {
      ResolvedPlugin use;
      use.info = plugin.info;
      use.instance_name = name;
      use.options.add("tensors", std::vector<std::string>{"loss", "accuracy"}, OptionType::kString);
      use.options.add("max", 2.5, OptionType::kFloat);
      PluginInstance& hook = own.create(plugin, use, services_, monitor_);
      EXPECT_EQ(hook.name(), name);
      EXPECT_EQ(hook.label(), "hook \"" + std::string(name) + "\" of \"sample_hook\" (linked in, 1.2.0)");
      EXPECT_EQ(error_of([&] { hook.call("end", &belay_hook_api::end, static_cast<belay_session*>(nullptr)); }),
                "DATA_LOSS: " + hook.label() + " in end: no end");
    }
  }
  EXPECT_THAT(logger_.lines,
              ElementsAre("info a: made with 2 tensors, max 2.500000", "info b: made with 2 tensors, max 2.500000",
                          "info b: destroyed", "info a: destroyed"));
}

TEST_F(InstanceTest, AHandleBorrowsTheInstance) {
  PluginInstance& hook = make("");
  {
    const HookHandle handle = hook.handle<belay_hook_api>();
    EXPECT_TRUE(handle);
    EXPECT_EQ(handle.self(), hook.self());
  }
  after_run(hook);
}

// A hook that looks at the monitor while it is called.
CallMonitor* watched = nullptr;
std::string seen;
std::int32_t watching_begin(void*, belay_graph*, belay_status*) {
  seen = watched->instance.load()->name() + " in " + watched->callback.load();
  return BELAY_OK;
}
std::int32_t watching_create(const belay_host_api*, belay_host*, const belay_named_value*, std::uint64_t, void** self,
                             belay_status*) {
  static int object;
  *self = &object;
  return BELAY_OK;
}
void watching_destroy(void*) {}

// A hook that changes its thread's settings.
std::function<void()> change;
std::int32_t changing_begin(void*, belay_graph*, belay_status*) {
  change();
  return BELAY_OK;
}
std::int32_t changing_after_run(void*, belay_run*, const belay_run_values*, belay_status*) {
  change();
  return BELAY_OK;
}

class ChangingHook : public InstanceTest {
 protected:
  ChangingHook() {
    static belay_hook_api table{};
    table.struct_size = sizeof(table);
    table.create = &watching_create;
    table.destroy = &watching_destroy;
    table.begin = &changing_begin;
    table.after_run = &changing_after_run;
    plugin_.info.name = "changing";
    plugin_.table = adopt_table(PluginKind::kHook, &table);
    hook_ = &create("x");
  }
  PluginInstance& create(const std::string& name) {
    ResolvedPlugin use;
    use.instance_name = name;
    return instances_.create(plugin_, use, services_, monitor_);
  }
  static void after_run_in_step(ThreadOfCalls& thread, PluginInstance& hook) {
    hook.call_in_step(
        thread, "after_run", &belay_hook_api::after_run, [] {}, static_cast<belay_run*>(nullptr),
        static_cast<const belay_run_values*>(nullptr));
  }
  void begin() { hook_->call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr)); }

  RegisteredPlugin plugin_;
  PluginInstance* hook_ = nullptr;
};

TEST_F(ChangingHook, T_60_TheFloatingPointModeIsPutBackAfterEachCallbackWithOneWarning) {
  monitor_.step = 17;
  const std::uint32_t own = vector_control();
  change = [] { set_vector_control(0xdfc0); };
  for (int i = 0; i < 2; ++i) {
    ThreadOfCalls thread;
    after_run_in_step(thread, *hook_);
    thread.look();
    EXPECT_EQ(vector_control() & kVectorModeBits, own & kVectorModeBits);
    begin();
    EXPECT_EQ(vector_control() & kVectorModeBits, own & kVectorModeBits);
  }
  EXPECT_THAT(logger_.lines,
              ElementsAre("warning x: hook \"x\" of \"changing\" (linked in,) in after_run at step 17: it changed the "
                          "floating-point mode (flush-to-zero, rounding) of the thread that called it, which was put "
                          "back, now and whenever it does it again"));
}

// More calls than are looked at together.
TEST_F(ChangingHook, T_60_InAStepEachCallFindsTheThreadsModeAndWhoChangesItIsNamed) {
  PluginInstance* const hooks[] = {hook_, &create("y"), &create("z")};
  const std::uint32_t own = vector_control() & kVectorModeBits;
  std::vector<std::uint32_t> found;
  change = [&found] {
    found.push_back(vector_control() & kVectorModeBits);
    if (found.size() % 3 != 2) set_vector_control(0xdfc0);  // all but y
  };
  {
    ThreadOfCalls thread;
    for (int i = 0; i < 5; ++i)
      for (PluginInstance* hook : hooks) {
        after_run_in_step(thread, *hook);
        EXPECT_EQ(vector_control() & kVectorModeBits, own);
      }
  }
  EXPECT_EQ(found, std::vector<std::uint32_t>(15, own));
  EXPECT_THAT(logger_.lines,
              ElementsAre(HasSubstr("warning x: hook \"x\" of \"changing\" (linked in,) in after_run: "),
                          HasSubstr("warning z: hook \"z\" of \"changing\" (linked in,) in after_run: ")));
}

TEST_F(ChangingHook, T_60_AModeThatACallLeavesWithAnExceptionIsPutBackWithTheWarning) {
  const std::uint32_t own = vector_control() & kVectorModeBits;
  change = [] {
    set_vector_control(0xdfc0);
    throw 7;
  };
  EXPECT_THAT(error_of([&] { begin(); }), HasSubstr("let an exception escape"));
  EXPECT_EQ(vector_control() & kVectorModeBits, own);
  EXPECT_THAT(logger_.lines, ElementsAre(HasSubstr("in begin: it changed the floating-point mode")));
}

TEST_F(ChangingHook, T_60_TheX87ControlWordIsPutBack) {
  const std::uint16_t own = x87_control();
  change = [] { set_x87_control(0x0f7f); };
  begin();
  EXPECT_EQ(x87_control(), own);
}

TEST_F(ChangingHook, T_50b_WhatItChangesOfOpenMPsSettingsIsPutBackAfterItsCallback) {
  const int threads = omp_get_max_threads(), dynamic = omp_get_dynamic(), levels = omp_get_max_active_levels();
  change = [&] {
    omp_set_num_threads(threads + 1);
    omp_set_dynamic(1);
    omp_set_max_active_levels(0);
  };
  begin();
  EXPECT_EQ(omp_get_max_threads(), threads);
  EXPECT_EQ(omp_get_dynamic(), dynamic);
  EXPECT_EQ(omp_get_max_active_levels(), levels);
}

TEST_F(InstanceTest, TheMonitorTellsWhoIsBeingCalled) {
  belay_hook_api table{};
  table.struct_size = sizeof(table);
  table.create = &watching_create;
  table.destroy = &watching_destroy;
  table.begin = &watching_begin;
  RegisteredPlugin plugin;
  plugin.info.name = "watching";
  plugin.table = adopt_table(PluginKind::kHook, &table);
  ResolvedPlugin use;
  use.instance_name = "w";
  watched = &monitor_;
  PluginInstance hook(plugin, use, services_, monitor_);
  hook.call("begin", &belay_hook_api::begin, static_cast<belay_graph*>(nullptr));
  EXPECT_EQ(seen, "w in begin");
  EXPECT_EQ(monitor_.instance.load(), nullptr);
  EXPECT_EQ(monitor_.callback.load(), nullptr);
}

}  // namespace
}  // namespace belay::runtime
