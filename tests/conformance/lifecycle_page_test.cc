// SPDX-License-Identifier: Apache-2.0
// docs/design/lifecycle.md against what hooks, init function, queue runner, thread and raw session really see.
#include <algorithm>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "runtime/graph/queue_runner.h"
#include "tests/docs/page.h"
#include "tests/monitored/counting_session.h"
#include "tests/monitored/saver_fixture.h"

namespace belay::runtime::testing {
namespace {

const PageSection& section(const std::string& heading) {
  static const std::vector<PageSection> sections = sections_of(read_source("docs/design/lifecycle.md"));
  const PageSection* found = find_section(sections, heading);
  if (found == nullptr) fail(Code::kNotFound, "docs/design/lifecycle.md has no section '" + heading + "'");
  return *found;
}

// The first words of the lines in a section's fenced block.
Timeline timeline_of(const std::string& heading) {
  Timeline events;
  std::istringstream lines(section(heading).text);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("```")) {
      inside = !inside;
    } else if (inside && !line.starts_with(' ')) {
      events.push_back(line.substr(0, line.find(' ')));
    }
  }
  EXPECT_FALSE(events.empty()) << heading;
  return events;
}

// An endless queue: a dequeue from it is the raw run, its end is the end of the raw session.
class RecordingQueue final : public Queue {
 public:
  RecordingQueue(std::string name, Timeline& timeline) : name_(std::move(name)), timeline_(timeline) {}
  ~RecordingQueue() override { timeline_.push_back("raw_closed"); }
  void enqueue(QueueElement, const CancelToken&) override {}
  void enqueue_many(std::vector<QueueElement>, const CancelToken&) override {}
  QueueElement dequeue(const CancelToken& cancel) override {
    cancel.check();
    timeline_.push_back("raw_run");
    QueueElement element;
    element.components.emplace_back(DType::kFloat32, Dims{});
    return element;
  }
  bool wait_for_element(const CancelToken&) override { return true; }
  QueueElement dequeue_many(std::int64_t, bool, const CancelToken& cancel) override { return dequeue(cancel); }
  void recycle(QueueElement) override {}
  QueueElement spare() override { return {}; }
  void close(bool) override {}
  void close_with_error(const Error&) override {}
  void reopen() override {}
  bool closed() const override { return false; }
  std::int64_t size() const override { return 1; }
  const std::string& name() const override { return name_; }

 private:
  std::string name_;
  Timeline& timeline_;
};

class RecordingThread final : public Joinable {
 public:
  explicit RecordingThread(Timeline& timeline) : timeline_(timeline) {}
  const std::string& name() const override { return name_; }
  bool join_for(std::int64_t) override {
    if (!joined_) timeline_.push_back("joined");
    return joined_ = true;
  }

 private:
  const std::string name_ = "recording";
  Timeline& timeline_;
  bool joined_ = false;
};

class RecordingRunner final : public QueueFiller {
 public:
  explicit RecordingRunner(Timeline& timeline) : timeline_(timeline) {}
  const std::string& name() const override { return name_; }
  std::vector<std::shared_ptr<Joinable>> create_threads(const belay::Session&, Coordinator* coordinator) override {
    timeline_.push_back("runners_start");
    auto thread = std::make_shared<RecordingThread>(timeline_);
    coordinator->register_thread(thread);
    return {thread};
  }

 private:
  const std::string name_ = "recording";
  Timeline& timeline_;
};

class RecordingCreator final : public SessionCreator {
 public:
  RecordingCreator(NodeGraph& graph, const RunEnvironment& environment, ChiefSessionCreator::Options options,
                   Timeline& timeline)
      : chief_(graph, environment, std::move(options)), timeline_(timeline) {}
  CreatedSession create_session() override {
    timeline_.push_back("create_session");
    return chief_.create_session();
  }
  NodeGraph& graph() override { return chief_.graph(); }

 private:
  ChiefSessionCreator chief_;
  Timeline& timeline_;
};

// A session of two hooks where everything is recorded.
class LifecyclePage : public SaverTest {
 protected:
  LifecyclePage() {
    environment.session.queues = [this](const Node& node) {
      return std::make_unique<RecordingQueue>(node.name, timeline);
    };
    graph.add_queue_runner(std::make_shared<RecordingRunner>(timeline));
    add_probe("x");
    y = &add_probe("y");
  }
  MonitoredSession& open(bool recovers = true) {
    saver = make_saver();
    ScaffoldOptions pieces;
    pieces.saver = saver;
    pieces.host_init = [this](const SessionScaffold&, DirectSession&) {
      timeline.push_back("init_fn");
      if (at_init) at_init();
    };
    MonitoredSessionOptions options;
    options.saver = saver.get();
    options.recovers = recovers;
    const auto creator = std::make_shared<RecordingCreator>(
        graph, environment,
        ChiefSessionCreator::Options{.scaffold = std::make_shared<SessionScaffold>(pieces),
                                     .checkpoint_dir = run.path()},
        timeline);
    session = std::make_unique<MonitoredSession>(creator, environment, hooks, options);
    return *session;
  }
  void train() { session->run({batch, train_op}); }

  const Output step = ops::create_global_step(g);
  const Output train_op = ops::assign_add(step, ops::constant(g, Tensor(std::int64_t{1}), "one"), "train");
  const Output batch = ops::dequeue(ops::fifo_queue(g, 1, {{DType::kFloat32, Dims{}}}, "queue"))[0];
  Probe* y = nullptr;
  std::function<void()> at_init;
  std::shared_ptr<RunSaver> saver;
  std::unique_ptr<MonitoredSession> session;
};

// The entries of a save have the step after them.
Timeline without_steps(Timeline events) {
  for (std::string& e : events) e = e.substr(0, e.find(' '));
  return events;
}

TEST_F(LifecyclePage, PROSE_01_CreateRunAndCloseGoAsOnThePage) {
  open();
  EXPECT_EQ(new_events(), timeline_of("Create"));
  train();
  EXPECT_EQ(new_events(), timeline_of("Run"));
  saver->request();
  train();
  EXPECT_EQ(without_steps(new_events()), timeline_of("Run with a checkpoint"));
  session->close();
  EXPECT_EQ(new_events(), timeline_of("Close"));
  open();
  EXPECT_EQ(new_events(), timeline_of("Create from a checkpoint"));
  EXPECT_EQ(error_of([&] { session->scope([] { fail(Code::kInternal, "broken"); }); }), "INTERNAL: broken");
  EXPECT_EQ(new_events(), timeline_of("Close after an error"));
}

TEST_F(LifecyclePage, PROSE_01_ARunWithACheckpointInTheBackgroundGoesAsOnThePage) {
  mode = SaveMode::kAsync;
  open();
  new_events();
  saver->request();
  train();
  while (!saver->due()) std::this_thread::yield();
  train();
  EXPECT_EQ(without_steps(new_events()), timeline_of("Run with a checkpoint in the background"));
}

TEST_F(LifecyclePage, PROSE_01_RecoverGoesAsOnThePage) {
  open();
  train();
  new_events();
  y->in["before_run"] = [&] {
    y->in.clear();
    fail(Code::kAborted, "lost");
  };
  train();
  EXPECT_EQ(new_events(), timeline_of("Recover"));
}

Code error_code(const std::string& name) {
  for (const Code code : {Code::kAborted, Code::kUnavailable, Code::kOutOfRange, Code::kStop, Code::kInternal})
    if (name == code_name(code)) return code;
  fail(Code::kInvalidArgument, "the page names a code '" + name + "' that the test does not know");
}

class LifecycleTable : public LifecyclePage {
 protected:
  // Fails once: in the creation, or in the second run.
  void plan_failure(const std::string& place, Code code) {
    const auto once = [this, code, left = place == "before_run" || place == "after_run" || place == "raw run" ? 2 : 1,
                       raw = place == "raw run"]() mutable {
      if (left == 0 || --left != 0) return;
      if (raw) return session->interrupt(Error(code, "failed"));
      fail(code, "failed");
    };
    if (place == "init_fn") {
      at_init = once;
    } else if (place == "raw run") {
      y->in["before_run"] = once;
    } else if (place != "thread") {
      y->in[place] = once;
    }
  }
  void run_session(const std::string& place, Code code, bool recovers) {
    open(recovers);
    session->scope([&] {
      for (int i = 0; i < 3 && !session->should_stop(); ++i) {
        train();
        if (place != "thread" || i != 0) continue;
        Coordinator& c = from_handle(session->raw_session()->coordinator);
        c.start_thread("loader", [code] { fail(code, "failed"); });
        c.wait_for_stop(-1);
      }
    });
  }
  bool seen(const std::string& event) const {
    return std::find(timeline.begin(), timeline.end(), event) != timeline.end();
  }
};

// The row's cells, as this one ends.
class ErrorTable : public LifecycleTable, public ::testing::WithParamInterface<std::size_t> {};

TEST_P(ErrorTable, PROSE_01_AnErrorEndsAsInTheTable) {
  const Row& row = section("What an error does").rows.at(GetParam());
  const std::string place = runtime::code_of(row.at(0)), code_text = runtime::code_of(row.at(1));
  plan_failure(place, error_code(code_text));
  const std::string error = error_of([&] { run_session(place, error_code(code_text), row.at(2) == "recovering"); });
  const auto yes = [](bool is) { return is ? std::string("yes") : std::string("no"); };
  const Row got{row[0],
                row[1],
                row[2],
                error == "no error" ? "nothing" : "the error",
                yes(seen("x.end")),
                yes(seen("x.on_error")),
                std::to_string(std::count(timeline.begin(), timeline.end(), "create_session"))};
  EXPECT_EQ(got, row) << error;
  if (error != "no error") {
    // A code that may not end the run from a callback leaves as another error.
    const bool refused = code_text == "OUT_OF_RANGE" && place != "thread";
    EXPECT_EQ(error.substr(0, error.find(':')), refused ? "FAILED_PRECONDITION" : code_text);
  }
}

INSTANTIATE_TEST_SUITE_P(Rows, ErrorTable, ::testing::Range(std::size_t{0}, section("What an error does").rows.size()));

}  // namespace
}  // namespace belay::runtime::testing
