#include "belay/testing/training_driver.h"

#include <algorithm>
#include <deque>
#include <mutex>

#include "belay/ops/math.h"
#include "belay/ops/random.h"
#include "belay/ops/reductions.h"
#include "belay/ops/training.h"
#include "belay/ops/variables.h"
#include "belay/testing/plugin_library.h"
#include "belay/testing/temporary_folder.h"
#include "runtime/data/make_queue.h"
#include "runtime/events/event_reader.h"
#include "runtime/events/event_service.h"
#include "runtime/monitored/build_model.h"
#include "runtime/monitored/host_services.h"
#include "runtime/monitored/monitored_session.h"
#include "runtime/ops/registry.h"
#include "runtime/testing/module_ops.h"

namespace belay {
inline namespace v0 {
namespace testing {
namespace {

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

}  // namespace

struct TrainingDriver::Engine {
  struct HookUse {
    const belay_hook_api* table;
    std::string name;
    OptionValues options;
  };

  Engine()
      : ops(runtime::make_op_registry()),
        graph(*ops),
        directory(runtime::posix_file_system().make_directories(folder.path())),
        events(*directory, clock, log) {}

  void build() {
    const Graph g = graph.handle();
    ops::get_or_create_global_step(g);
    const Output x = ops::random_uniform(g, {64}, -1, 1);
    const Output weight = ops::variable(g, "weight", Tensor(0.0f)), bias = ops::variable(g, "bias", Tensor(0.0f));
    runtime::ModelOutputs model;
    model.loss = ops::reduce_mean(ops::square(weight * x + bias - (x * 3.0 + 2.0)), {}, false, "loss");
    graph.set_role("loss", graph.resolve(model.loss.raw()));
    runtime::OptimizerSection optimizer;
    optimizer.learning_rate.learning_rate = rate;
    runtime::add_train_op(graph, optimizer, model);
    fetches = {model.train_op, model.loss};
  }

  void open() {
    environment = std::make_unique<runtime::RunEnvironment>(
        runtime::RunEnvironment{clock, log, runtime::posix_file_system(), targets, interrupt,
                                runtime::SessionOptions{1, seed, runtime::make_queue, &clock}});
    services = std::make_unique<runtime::HostServices>(log, clock, folder.path(), seed);
    runtime::add_session_services(*services);
    services->set_context(environment.get());
    services->set_context(&events);
    for (const HookUse& use : uses) {
      runtime::PluginInstance& instance = instances.add_hook(
          use.name,
          [&use](const belay_host_api* api, belay_host* host) { return use.options.create(api, host, use.table); },
          *services, monitor);
      hooks.add(runtime::SessionHook(instance, log));
    }
    runtime::MonitoredSessionOptions options;
    options.monitor = &monitor;
    session = std::make_unique<runtime::MonitoredSession>(
        std::make_shared<runtime::ChiefSessionCreator>(graph, *environment, runtime::ChiefSessionCreator::Options{}),
        *environment, hooks, std::move(options));
  }

  runtime::Variable& variable(const std::string& name) const {
    if (session == nullptr || session->closed())
      fail(Code::kFailedPrecondition, "variables can be seen between start and end");
    runtime::Variable* found = session->raw_session()->shared_store()->find(name);
    if (found == nullptr) fail(Code::kNotFound, "the training has no variable '" + name + "'");
    return *found;
  }

  TemporaryFolder folder;
  StepClock clock;
  KeptLog log;
  runtime::StoreTargets targets;
  runtime::CancellationSource interrupt;
  std::unique_ptr<runtime::OpRegistry> ops;
  runtime::ModuleOps module_ops;
  runtime::NodeGraph graph;
  std::unique_ptr<runtime::OpenDirectory> directory;
  runtime::RunEvents events;
  std::deque<HookUse> uses;
  double rate = 0.1, seconds_per_step = 0;
  std::uint64_t seed = 42;

  std::unique_ptr<runtime::RunEnvironment> environment;
  std::unique_ptr<runtime::HostServices> services;
  runtime::CallMonitor monitor;
  runtime::PluginInstances instances;
  runtime::HookSet hooks;
  std::vector<FetchRef> fetches;  // train_op, loss
  std::unique_ptr<runtime::MonitoredSession> session;
  std::int64_t step = 0;
  double loss = 0;
};

TrainingDriver::TrainingDriver(const belay_module& module, const OptionValues& options, const std::string& plugin)
    : engine_(std::make_unique<Engine>()) {
  add_hook(module, options, plugin);
}

TrainingDriver::~TrainingDriver() = default;

void TrainingDriver::add_hook(const belay_module& module, const OptionValues& options, const std::string& plugin) {
  if (engine_->session != nullptr) fail(Code::kFailedPrecondition, "the training has begun: hooks come before start");
  const belay_hook_api* table = find_table<belay_hook_api>(module, plugin);
  std::string name = plugin;
  for (std::uint64_t i = 0; i < module.n_plugins; ++i)
    if (module.plugins[i]->table == table) name = module.plugins[i]->name;
  engine_->uses.push_back({table, std::move(name), options});
  engine_->module_ops.add(*engine_->ops, module);
}

void TrainingDriver::learning_rate(double rate) { engine_->rate = rate; }
void TrainingDriver::seconds_per_step(double seconds) { engine_->seconds_per_step = seconds; }
void TrainingDriver::seed(std::uint64_t seed) { engine_->seed = seed; }

void TrainingDriver::start() {
  if (engine_->session != nullptr) fail(Code::kFailedPrecondition, "the training has begun already");
  engine_->build();
  engine_->open();
}

std::int64_t TrainingDriver::run(std::int64_t steps) {
  Engine& e = *engine_;
  if (e.session == nullptr) start();
  for (std::int64_t made = 0; made < steps; ++made) {
    if (e.session->should_stop()) return made;
    e.clock.advance(e.seconds_per_step);
    try {
      const runtime::FetchedValues values = e.session->run(e.fetches);
      e.loss = values[1].number(0);
    } catch (const Error& error) {
      e.session->leave(error);
      throw;
    }
    e.step = e.session->raw_session()->global_step();
  }
  return steps;
}

void TrainingDriver::end() {
  if (engine_->session == nullptr) fail(Code::kFailedPrecondition, "the training has not begun");
  engine_->session->close();
}

bool TrainingDriver::stopped() { return engine_->session != nullptr && engine_->session->should_stop(); }

std::string TrainingDriver::stop_reason() {
  return engine_->session == nullptr ? std::string() : engine_->session->end_reason().text;
}

std::int64_t TrainingDriver::step() const { return engine_->step; }
double TrainingDriver::loss() const { return engine_->loss; }

Tensor TrainingDriver::variable(const std::string& name) const {
  return Tensor(TensorView(engine_->variable(name).value.view()));
}

void TrainingDriver::set_variable(const std::string& name, const Tensor& value) {
  engine_->variable(name);
  engine_->session->raw_session()->shared_store()->assign(name, value);
}

std::vector<std::string> TrainingDriver::logged() const { return engine_->log.lines(); }

std::vector<TrainingDriver::Scalar> TrainingDriver::scalars(const std::string& tag) {
  engine_->events.writer()->flush();
  std::vector<Scalar> found;
  for (const std::string& name : engine_->directory->entries()) {
    if (name.rfind("events.out.tfevents.", 0) != 0) continue;
    runtime::EventReader events(engine_->directory->open(name));
    for (belay::pb::Event event; events.next(event);)
      for (const belay::pb::Summary::Value& value : event.summary().value())
        if (tag.empty() || value.tag() == tag)
          found.push_back({value.tag(), event.step(), static_cast<double>(value.simple_value())});
  }
  return found;
}

const std::string& TrainingDriver::run_directory() const { return engine_->folder.path(); }

}  // namespace testing
}  // namespace v0
}  // namespace belay
