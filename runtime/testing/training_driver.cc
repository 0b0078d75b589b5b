// SPDX-License-Identifier: Apache-2.0
#include "belay/testing/training_driver.h"

#include <algorithm>
#include <deque>
#include <mutex>
#include <optional>

#include "belay/ops/math.h"
#include "belay/ops/random.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "belay/testing/plugin_library.h"
#include "belay/testing/temporary_folder.h"
#include "runtime/estimator/host/session_host.h"
#include "runtime/events/event_reader.h"
#include "runtime/monitored/model/build_model.h"
#include "runtime/monitored/saving/scaffold.h"
#include "runtime/ops/registry.h"
#include "runtime/optimizer/learning_rate.h"
#include "runtime/testing/memory_saver.h"
#include "runtime/testing/module_ops.h"

namespace belay {
inline namespace v0 {
namespace testing {

// TrainingDriver::Engine has members of these types, so that this namespace has a name.
namespace training_driver {

class StepClock final : public runtime::Clock {
 public:
  std::int64_t monotonic_ns() const override { return now_ns_; }
  std::int64_t wall_ns() const override { return 1'600'000'000'000'000'000 + now_ns_; }
  void wait_until(std::unique_lock<std::mutex>&, std::condition_variable&, std::int64_t deadline_ns) override {
    now_ns_ = std::max(now_ns_, deadline_ns);
  }
  void advance(double seconds) { now_ns_ += static_cast<std::int64_t>(seconds * 1e9); }

 private:
  std::int64_t now_ns_ = 0;
};

class KeptLog final : public runtime::Logger {
 public:
  void log(LogLevel level, std::string_view source, std::string_view text) override {
    const char* name = level >= LogLevel::kError     ? "error"
                       : level >= LogLevel::kWarning ? "warning"
                       : level >= LogLevel::kInfo    ? "info"
                                                     : "debug";
    const std::lock_guard lock(mutex_);
    lines_.push_back(std::string(name) + " " + (source.empty() ? "" : std::string(source) + ": ") + std::string(text));
  }
  bool enabled(LogLevel) const override { return true; }
  bool interactive() const override { return false; }
  void status_line(std::string_view) override {}
  void set_step(std::int64_t) override {}
  void flush() override {}
  std::vector<std::string> lines() const {
    const std::lock_guard lock(mutex_);
    return lines_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

struct HookUse {
  const belay_module* module;
  const belay_hook_api* table;
  std::string name;
  OptionValues options;
};

struct SavedBy {
  const belay_saver_api* table;
  std::string name;
  OptionValues options;
};

// The parts that a test sets up. They stay when the process restarts.
struct Setup {
  TemporaryFolder folder;
  StepClock clock;
  KeptLog log;
  runtime::MemorySaver memory;
  std::deque<HookUse> uses;
  std::optional<SavedBy> saver;  // none: `memory`
  double rate = 0.1, seconds_per_step = 0;
  std::uint64_t seed = 42;
};

// The state of a process, which a restart drops.
struct Process {
  explicit Process(Setup& s) : setup(s), ops(runtime::make_op_registry()), graph(*ops) {}

  void start() {
    for (const HookUse& use : setup.uses) module_ops.add(*ops, *use.module);
    build();
    open_run();
    make_saver();
    for (const HookUse& use : setup.uses) add_hook(use);
    open_session();
  }

  void build() {
    const Graph g = graph.handle();
    ops::get_or_create_global_step(g);
    const Output x = ops::random_uniform(g, {64}, -1, 1);
    const Output weight = ops::variable(g, "weight", Tensor(0.0f)), bias = ops::variable(g, "bias", Tensor(0.0f));
    runtime::ModelOutputs model;
    model.loss = ops::reduce_mean(ops::square(weight * x + bias - (x * 3.0 + 2.0)), {}, false, "loss");
    graph.set_role("loss", graph.resolve(model.loss.raw()));
    model.train_op = descent(model.loss);
    graph.set_role("train_op", graph.resolve(model.train_op.raw()));
    fetches = {model.train_op, model.loss};
  }

  // Adds plain gradient descent, which needs no plugin, in place of [optimizer].
  Output descent(const Output& of) {
    const Graph g = graph.handle();
    const Output counter = ops::get_or_create_global_step(g);
    const auto gradients = runtime::compute_gradients(g, of);
    const Output rate = runtime::add_learning_rate(g, {.learning_rate = setup.rate}, counter, nullptr);
    std::vector<Output> updates;
    for (const runtime::VariableGradient& v : gradients)
      updates.push_back(ops::apply_gradient_descent(v.variable, rate, v.gradient));
    const auto after = g.after(updates);
    return ops::assign_add(counter, ops::constant(g, Tensor(std::int64_t{1}))).operation();
  }

  void open_run() {
    run.emplace(runtime::Platform{setup.clock, setup.log, runtime::posix_file_system()}, control,
                runtime::RunHostOptions{.dir = setup.folder.path(),
                                        .threads = 1,
                                        .seed = setup.seed,
                                        .checkpoint = {.save = runtime::SaveMode::kSync}});
    run->take_directory();
    host.emplace(*run, runtime::SessionHost::Options{.saves = true});
    host->open_events();
  }

  void make_saver() {
    runtime::SaverUse use = setup.memory.use();
    if (setup.saver) {
      saver_host = std::make_unique<runtime::InstanceHost>(run->services(), setup.saver->name);
      saver_table = belay::detail::adopt(setup.saver->table);
      codec = setup.saver->options.create(runtime::InstanceHost::api(), saver_host->raw(), &saver_table);
      use = {&saver_table, codec.self(), setup.saver->name, "linked in"};
    }
    run->use_codec(use);
    run->open_saver({}, host->events());
  }

  void add_hook(const HookUse& use) {
    host->add_hook(use.name, [&use](const belay_host_api* api, belay_host* instance) {
      return use.options.create(api, instance, use.table);
    });
  }

  void open_session() {
    runtime::ScaffoldOptions pieces;
    pieces.saver = run->saver();
    runtime::ChiefSessionCreator::Options creation;
    creation.scaffold = std::make_shared<runtime::SessionScaffold>(std::move(pieces));
    creation.checkpoint_dir = setup.folder.path();
    session =
        host->open(std::make_shared<runtime::ChiefSessionCreator>(graph, run->environment(), std::move(creation)));
    step = std::max<std::int64_t>(session->raw_session()->global_step(), 0);
  }

  // Returns the session between start and end.
  runtime::MonitoredSession& open(const char* what) const {
    if (session == nullptr || session->closed())
      fail(Code::kFailedPrecondition, std::string(what) + " between start and end");
    return *session;
  }

  runtime::Variable& variable(const std::string& name) const {
    runtime::Variable* found = open("variables can be seen").raw_session()->shared_store()->find(name);
    if (found == nullptr) fail(Code::kNotFound, "the training has no variable '" + name + "'");
    return *found;
  }

  Setup& setup;
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::ModuleOps module_ops;
  runtime::NodeGraph graph;
  runtime::RunControl control;
  std::optional<runtime::RunHost> run;
  std::unique_ptr<runtime::InstanceHost> saver_host;  // for a linked saver
  belay_saver_api saver_table{};
  Handle<belay_saver_api> codec;
  std::optional<runtime::SessionHost> host;
  std::vector<FetchRef> fetches;  // train_op, loss
  std::unique_ptr<runtime::MonitoredSession> session;
  std::int64_t step = 0;
  double loss = 0;
};

}  // namespace training_driver

namespace {

// Returns the name of the plugin with this table in the module.
std::string name_of(const belay_module& module, const void* table) {
  for (std::uint64_t i = 0; i < module.n_plugins; ++i)
    if (module.plugins[i]->table == table) return module.plugins[i]->name;
  return "";
}

}  // namespace

struct TrainingDriver::Engine {
  using Process = training_driver::Process;

  training_driver::Setup setup;
  std::unique_ptr<Process> process = std::make_unique<Process>(setup);
};

TrainingDriver::TrainingDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>()) {
  add_hook(module, options, plugin);
}

TrainingDriver::~TrainingDriver() = default;

void TrainingDriver::add_hook(const belay_module& module, const OptionValues& options, const std::string& plugin) {
  if (engine_->process->session != nullptr)
    fail(Code::kFailedPrecondition, "the training has begun: hooks come before start");
  const belay_hook_api* table = find_table<belay_hook_api>(module, plugin);
  engine_->setup.uses.push_back({&module, table, name_of(module, table), options});
}

void TrainingDriver::saver(const belay_module& module, const OptionValues& options, const std::string& plugin) {
  if (engine_->process->session != nullptr)
    fail(Code::kFailedPrecondition, "the training has begun: a saver comes before start");
  const belay_saver_api* table = find_table<belay_saver_api>(module, plugin);
  engine_->setup.saver = training_driver::SavedBy{table, name_of(module, table), options};
}

void TrainingDriver::learning_rate(double rate) { engine_->setup.rate = rate; }
void TrainingDriver::seconds_per_step(double seconds) { engine_->setup.seconds_per_step = seconds; }
void TrainingDriver::seed(std::uint64_t seed) { engine_->setup.seed = seed; }

void TrainingDriver::start() {
  if (engine_->process->session != nullptr) fail(Code::kFailedPrecondition, "the training has begun already");
  engine_->process->start();
}

void TrainingDriver::restart() {
  if (engine_->process->session == nullptr) fail(Code::kFailedPrecondition, "the training has not begun");
  engine_->process = nullptr;  // before a new one exists, since hooks may have files open
  engine_->process = std::make_unique<Engine::Process>(engine_->setup);
  start();
}

std::int64_t TrainingDriver::run(std::int64_t steps) {
  if (engine_->process->session == nullptr) start();
  Engine::Process& p = *engine_->process;
  for (std::int64_t made = 0; made < steps; ++made) {
    if (p.session->should_stop()) return made;
    p.setup.clock.advance(p.setup.seconds_per_step);
    try {
      const runtime::FetchedValues values = p.session->run(p.fetches);
      p.loss = values[1].number(0);
    } catch (const Error& error) {
      p.session->leave(error);
      throw;
    }
    p.step = p.session->raw_session()->global_step();
  }
  return steps;
}

void TrainingDriver::save() {
  Engine::Process& p = *engine_->process;
  runtime::MonitoredSession& session = p.open("a checkpoint is written");
  p.run->saver()->request();
  const std::string stopping = p.run->saver()->at_boundary(*session.raw_session(), p.host->hooks());
  if (!stopping.empty()) session.request_stop(stopping + ": asked to stop after a checkpoint");
}

void TrainingDriver::end() {
  if (engine_->process->session == nullptr) fail(Code::kFailedPrecondition, "the training has not begun");
  engine_->process->session->close();
}

bool TrainingDriver::stopped() {
  return engine_->process->session != nullptr && engine_->process->session->should_stop();
}

std::string TrainingDriver::stop_reason() {
  return engine_->process->session == nullptr ? std::string() : engine_->process->session->end_reason().text;
}

std::int64_t TrainingDriver::step() const { return engine_->process->step; }
double TrainingDriver::loss() const { return engine_->process->loss; }

std::string TrainingDriver::checkpoint() const {
  return engine_->process->run ? engine_->process->run->saver()->saved_path() : std::string();
}

Tensor TrainingDriver::variable(const std::string& name) const {
  return Tensor(TensorView(engine_->process->variable(name).value.view()));
}

void TrainingDriver::set_variable(const std::string& name, const Tensor& value) {
  engine_->process->variable(name);
  engine_->process->session->raw_session()->shared_store()->assign(name, value);
}

std::vector<std::string> TrainingDriver::logged() const { return engine_->setup.log.lines(); }

std::vector<TrainingDriver::Scalar> TrainingDriver::scalars(const std::string& tag) {
  if (engine_->process->host) engine_->process->host->events()->flush();
  std::vector<Scalar> found;
  const auto run = runtime::posix_file_system().open_directory(engine_->setup.folder.path());
  for (const std::string& name : run->entries()) {
    if (name.rfind("events.out.tfevents.", 0) != 0) continue;
    runtime::EventReader events(run->open(name));
    for (belay::pb::Event event; events.next(event);)
      for (const belay::pb::Summary::Value& value : event.summary().value())
        if (tag.empty() || value.tag() == tag)
          found.push_back({value.tag(), event.step(), static_cast<double>(value.simple_value())});
  }
  return found;
}

const std::string& TrainingDriver::run_directory() const { return engine_->setup.folder.path(); }

}  // namespace testing
}  // namespace v0
}  // namespace belay
