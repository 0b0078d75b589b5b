// SPDX-License-Identifier: Apache-2.0
// Arguments that a plugin hands to a service: pointers that are null, lists that are too long, texts without data. Each
// is an error of the call, in every slot of every table.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/format/saver_tensors.h"
#include "runtime/checkpoint/read/saver_directory.h"
#include "runtime/cluster/ranks_service.h"
#include "runtime/data/input_service.h"
#include "runtime/events/event_service.h"
#include "runtime/graph/graph_service.h"
#include "runtime/monitored/hooks/state_service.h"
#include "runtime/monitored/model/model_service.h"
#include "runtime/monitored/services/checkpoint_service.h"
#include "runtime/ops/plugin/plugin_op.h"
#include "runtime/platform/process/process_copy.h"
#include "runtime/session/session_service.h"
#include "tests/session/session_fixture.h"

namespace belay::runtime::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// The slot's answer to nulls and zeros alone, with a status to write into.
template <class... A>
std::string answer_to_nulls(std::int32_t (*slot)(A...)) {
  detail::Status status;
  const auto argument = [&]<class T>(T*) -> T {
    if constexpr (std::is_same_v<T, belay_status*>) {
      return status;
    } else {
      return T{};
    }
  };
  const std::int32_t code = slot(argument(static_cast<A*>(nullptr))...);
  return std::string(code_name(static_cast<Code>(code))) + ": " + std::string(status.message());
}
template <class R, class... A>
std::string answer_to_nulls(R (*slot)(A...)) {
  if constexpr (std::is_void_v<R>) {
    slot(A{}...);
    return "nothing";
  } else {
    return slot(A{}...) == R{} ? "nothing" : "something";
  }
}
template <class... A>
constexpr bool has_status(std::int32_t (*)(A...)) {
  return (std::is_same_v<A, belay_status*> || ...);
}
template <class R, class... A>
constexpr bool has_status(R (*)(A...)) {
  return false;
}

#define BELAY_ANSWER(table, slot) answers.push_back({#table "." #slot, has_status(t.slot), answer_to_nulls(t.slot)});
#define BELAY_ANSWERS(table, given)   \
  {                                   \
    const auto& t = *given;           \
    BELAY_SLOTS_##table(BELAY_ANSWER) \
  }

TEST(ServiceArguments, T_146_NoSlotOfAServiceFollowsANull) {
  struct Answer {
    std::string slot;
    bool status;
    std::string text;
  };
  std::vector<Answer> answers;
  BELAY_ANSWERS(graph, graph_service())
  BELAY_ANSWERS(session, session_service())
  BELAY_ANSWERS(coordinator, coordinator_service())
  BELAY_ANSWERS(model, model_service())
  BELAY_ANSWERS(input, input_service())
  BELAY_ANSWERS(files, files_service())
  BELAY_ANSWERS(saver, saver_service())
  BELAY_ANSWERS(checkpoint, checkpoint_service())
  BELAY_ANSWERS(events, events_service())
  BELAY_ANSWERS(state, state_service())
  BELAY_ANSWERS(op, op_service())
  BELAY_ANSWERS(cluster, ranks_service())
  EXPECT_GT(answers.size(), 70u);
  for (const Answer& a : answers) {
    if (!a.status) continue;
    EXPECT_THAT(a.text, ::testing::AnyOf(StartsWith("INVALID_ARGUMENT: "), StartsWith("FAILED_PRECONDITION: ")))
        << a.slot;
    if (a.text.find(" is null") != std::string::npos && a.text.find("belay_") == std::string::npos) {
      EXPECT_THAT(a.text, HasSubstr(a.slot + ": argument "));
    }
  }
}

#define BELAY_CALL(table, slot) calls.emplace_back(#table "." #slot, [s = t.slot] { answer_to_nulls(s); });
#define BELAY_CALLS(table, given)   \
  {                                 \
    const auto& t = *given;         \
    BELAY_SLOTS_##table(BELAY_CALL) \
  }

// Those of events do nothing in a copy.
TEST(ServiceArguments, T_150_ACopyOfTheProcessEndsInWhicheverSlotItCalls) {
  std::vector<std::pair<std::string, std::function<void()>>> calls;
  BELAY_CALLS(graph, graph_service())
  BELAY_CALLS(session, session_service())
  BELAY_CALLS(coordinator, coordinator_service())
  BELAY_CALLS(model, model_service())
  BELAY_CALLS(input, input_service())
  BELAY_CALLS(files, files_service())
  BELAY_CALLS(saver, saver_service())
  BELAY_CALLS(checkpoint, checkpoint_service())
  BELAY_CALLS(state, state_service())
  BELAY_CALLS(op, op_service())
  BELAY_CALLS(cluster, ranks_service())
  EXPECT_GT(calls.size(), 60u);
  int names[2];
  ASSERT_EQ(::pipe2(names, O_CLOEXEC), 0);
  const pid_t host = ::fork();
  ASSERT_GE(host, 0);
  if (host == 0) {
    ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), STDERR_FILENO);
    own_process();
    for (const auto& [name, call] : calls) {
      const pid_t copy = ::fork();
      if (copy == 0) {
        call();
        ::_exit(0);
      }
      int status = 0;
      ::waitpid(copy, &status, 0);
      if (!WIFEXITED(status) || WEXITSTATUS(status) != 3) ::dprintf(names[1], "%s ", name.c_str());
    }
    ::_exit(0);
  }
  ::close(names[1]);
  std::string did_not_end;
  char part[256];
  for (ssize_t n; (n = ::read(names[0], part, sizeof(part))) > 0;)
    did_not_end.append(part, static_cast<std::size_t>(n));
  ::close(names[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(host, &status, 0), host);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(did_not_end, "");
}

class GivenLists : public SessionTest {
 protected:
  // Returns the error of add_node for a node like that.
  std::string error_of_node(belay_node_def def) {
    detail::Status status;
    std::uint32_t node = 0;
    return error_of([&] { status.check(graph_service()->add_node(to_handle(&graph), &def, &node, status)); });
  }
  belay_node_def noop() {
    auto def = detail::sized<belay_node_def>();
    def.op = detail::str("NoOp");
    return def;
  }
  template <class F>
  std::string error_of_call(F&& call) {
    detail::Status status;
    return error_of([&] { status.check(call(static_cast<belay_status*>(status))); });
  }

  static constexpr std::uint64_t kHuge = std::uint64_t{1} << 60;
};

TEST_F(GivenLists, T_146_ListsOfANodeAreCountedBeforeTheyAreFollowed) {
  belay_node_def def = noop();
  def.n_inputs = 3;
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: n_inputs = 3, and inputs is null");
  def.n_inputs = kHuge;
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: n_inputs = 1152921504606846976, more than 1048576");
  def = noop(), def.n_control_inputs = 1;
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: n_control_inputs = 1, and control_inputs is null");
  def = noop(), def.n_attrs = 2;
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: n_attrs = 2, and attrs is null");
  def = noop(), def.op = {nullptr, 7};
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: op has 7 bytes, and its data is null");
  def = noop();
  belay_named_value attr{detail::str("value"), {BELAY_VALUE_INT, 0, 1, nullptr}};
  def.attrs = &attr, def.n_attrs = 1;
  EXPECT_EQ(error_of_node(def), "INVALID_ARGUMENT: the attribute 'value' has count = 1, and its data is null");
  attr.value = {BELAY_VALUE_INT | BELAY_VALUE_LIST, 0, kHuge, &attr};
  EXPECT_EQ(error_of_node(def),
            "INVALID_ARGUMENT: the attribute 'value' has count = 1152921504606846976, more than there can be");
}

TEST_F(GivenLists, T_146_ListsOfCallsAreCountedBeforeTheyAreFollowed) {
  const auto& graphs = *graph_service();
  belay_graph* const handle = to_handle(&graph);
  const belay_output none{};
  EXPECT_EQ(error_of_call([&](belay_status* s) { return graphs.enter_control(handle, nullptr, 3, s); }),
            "INVALID_ARGUMENT: graph.enter_control: argument 2 is null, and counts 3");
  EXPECT_EQ(error_of_call([&](belay_status* s) { return graphs.enter_control(handle, &none, kHuge, s); }),
            "INVALID_ARGUMENT: graph.enter_control: argument 2 is a list of 1152921504606846976, more than 1048576");
  belay_output found{};
  EXPECT_EQ(error_of_call([&](belay_status* s) {
              return graphs.find(handle, {nullptr, 5}, &found, s);
            }),
            "INVALID_ARGUMENT: graph.find: argument 2 has 5 bytes, and its data is null");
  EXPECT_EQ(graphs.serial(nullptr), 0u);
  auto args = detail::sized<belay_run_args>();
  args.n_fetches = kHuge;
  belay_result* result = nullptr;
  open();
  EXPECT_EQ(
      error_of_call([&](belay_status* s) { return session_service()->run(to_handle(&session()), &args, &result, s); }),
      "INVALID_ARGUMENT: n_fetches = 1152921504606846976, more than 1048576");
  EXPECT_EQ(error_of_call([&](belay_status* s) {
              return session_service()->assign(to_handle(&session()), detail::str("x"), nullptr, s);
            }),
            "INVALID_ARGUMENT: session.assign: argument 3 is null");
}

TEST_F(GivenLists, T_153_TheGlobalStepDoesNotBecomeNegative) {
  const Output step = ops::create_global_step(g);
  open();
  initialize();
  const auto set = [&](std::int64_t value) {
    Tensor given(value);
    const belay_tensor raw = given.view();
    return error_of_call([&](belay_status* s) {
      return session_service()->assign(to_handle(&session()), detail::str("global_step"), &raw, s);
    });
  };
  EXPECT_EQ(set(-1000),
            "INVALID_ARGUMENT: [B5075] the global step 'global_step' cannot become -1000; it counts from 0");
  EXPECT_EQ(set(7), "no error");
  EXPECT_EQ(session().global_step(), 7);
  EXPECT_TRUE(step);
}

TEST_F(GivenLists, T_146_AModelsListsAreCountedBeforeTheyAreFollowed) {
  ModelSpec spec{graph, {}};
  auto signature = detail::sized<belay_signature>();
  signature.name = signature.method = detail::str("predict");
  signature.n_inputs = 2;
  EXPECT_EQ(error_of_call(
                [&](belay_status* s) { return model_service()->export_signature(to_handle(&spec), &signature, s); }),
            "INVALID_ARGUMENT: n_inputs = 2, and inputs is null");
  auto hook = detail::sized<belay_model_hook>();
  hook.plugin = detail::str("logging_tensor");
  hook.n_options = kHuge;
  EXPECT_EQ(error_of_call([&](belay_status* s) { return model_service()->add_hook(to_handle(&spec), &hook, s); }),
            "INVALID_ARGUMENT: n_options = 1152921504606846976, more than 1048576");
}

}  // namespace
}  // namespace belay::runtime::testing
