// SPDX-License-Identifier: Apache-2.0
// A plugin of each kind that ends its process, or takes away what the host needs. Where and how is in the
// environment, so that a static constructor and an operation can do it too: ENDS_IN=hook.after_run ENDS_HOW=exit. Each
// does it in the third call of that callback, or in the first where there are few (ENDS_AT=1).
#include <belay/example_order.h>
#include <belay/heads.h>
#include <belay/ops/matmul.h>
#include <belay/plugin.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csetjmp>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>

namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// A thread's stack is 8 MiB.
int overflow(volatile char* from, int deep = 0) {
  volatile char block[4096];
  block[0] = from == nullptr ? '\0' : from[0];
  return deep > 100'000 ? 0 : overflow(block, deep + 1) + block[0];
}

void wait_for_ever() {
  for (;;) ::usleep(10'000);
}

void in_thread(void (*f)()) {
  std::thread(f).detach();
  wait_for_ever();
}

void crash() {
  volatile int* volatile nowhere = nullptr;
  *nowhere = 1;
}

void close_from(int first) {
  for (int fd = first; fd < 1024; ++fd) ::close(fd);
}

void limit(__rlimit_resource_t resource, rlim_t most) {
  const rlimit lower{most, most};
  ::setrlimit(resource, &lower);
}

// A copy of the process that comes back; the host's process waits for its end, so that its status is known.
void come_back(pid_t child) {
  if (child == 0) return;
  int status = 0;
  ::waitpid(child, &status, 0);
  dprintf(STDERR_FILENO, "the copy ended with status %d\n", WEXITSTATUS(status));
}

std::jmp_buf somewhere;
__attribute__((noinline)) void set_somewhere() {
  if (setjmp(somewhere) != 0) std::abort();
}

struct Ending {
  const char* how;
  void (*end)();
};
const Ending kEndings[] = {
    {"exit", [] { std::exit(0); }},
    {"exit_9", [] { std::exit(9); }},
    {"quick_exit", [] { std::quick_exit(0); }},
    {"_exit", [] { ::_exit(0); }},
    {"exec", [] { ::execl("/bin/true", "true", static_cast<char*>(nullptr)); }},
    {"exit_group", [] { ::syscall(SYS_exit_group, 0); }},
    {"abort", [] { std::abort(); }},
    {"terminate", [] { std::terminate(); }},
    {"terminate_exits",
     [] {
       std::set_terminate([] { std::exit(0); });
       std::terminate();
     }},
    {"joinable", [] { std::thread thread(wait_for_ever); }},
    {"segv", [] { crash(); }},
    {"overflow", [] { overflow(nullptr); }},
    {"sigkill", [] { ::raise(SIGKILL); }},
    {"sigterm",
     [] {
       ::kill(::getpid(), SIGTERM);
       ::usleep(300'000);
     }},
    {"raise_sigterm", [] { ::raise(SIGTERM); }},
    {"alarm",
     [] {
       ::alarm(1);
       wait_for_ever();
     }},
    {"cpu_limit",
     [] {
       const rlimit soon{1, RLIM_INFINITY};
       ::setrlimit(RLIMIT_CPU, &soon);
       for (std::atomic<int> spins{0};; ++spins) continue;
     }},
    {"longjmp",
     [] {
       set_somewhere();
       std::longjmp(somewhere, 1);
     }},
    {"pthread_exit", [] { ::pthread_exit(nullptr); }},
    {"close_files", [] { close_from(3); }},
    {"close_all", [] { close_from(0); }},
    {"dlclose",
     [] {
       Dl_info info{};
       ::dladdr(&somewhere, &info);
       void* handle = ::dlopen(info.dli_fname, RTLD_NOW);
       for (int i = 0; i < 8; ++i) ::dlclose(handle);
     }},
    {"no_files", [] { limit(RLIMIT_NOFILE, 0); }},
    {"no_file_size", [] { limit(RLIMIT_FSIZE, 0); }},
    {"no_memory", [] { limit(RLIMIT_AS, 1 << 20); }},
    {"remove_run", [] { std::filesystem::remove_all(variable("ENDS_RUN")); }},
    {"truncate_mark", [] { std::filesystem::resize_file(variable("ENDS_RUN") + "/attempt", 0); }},
    {"fork", [] { come_back(::fork()); }},
    {"clone", [] { come_back(static_cast<pid_t>(::syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))); }},
    {"fork_exec",
     [] {
       const pid_t child = ::fork();
       if (child == 0) ::execl("/bin/true", "true", static_cast<char*>(nullptr));
       come_back(child);
     }},
    {"fork_exit",
     [] {
       const pid_t child = ::fork();
       if (child == 0) std::exit(5);
       come_back(child);
     }},
    {"fork_stays",
     [] {
       const pid_t child = ::fork();
       if (child == 0) wait_for_ever();
       dprintf(STDERR_FILENO, "the copy is %d\n", child);
     }},
    {"thread_exit", [] { in_thread([] { std::exit(0); }); }},
    {"thread_crash", [] { in_thread(crash); }},
    {"thread_throws", [] { in_thread([] { throw std::runtime_error("from a thread of a plugin"); }); }},
    {"late_thread_exit",
     [] {
       std::thread([] {
         ::usleep(200'000);
         std::exit(0);
       }).detach();
     }},
    {"atexit__exit", [] { std::atexit([] { ::_exit(0); }); }},
    {"atexit_crash", [] { std::atexit(crash); }},
};

void ends(const std::string& place) {
  static std::map<std::string, int>* calls = new std::map<std::string, int>;
  const std::string at = variable("ENDS_AT");
  if (variable("ENDS_IN") != place || ++(*calls)[place] != (at.empty() ? 3 : std::atoi(at.c_str()))) return;
  for (const Ending& e : kEndings)
    if (variable("ENDS_HOW") == e.how) return e.end();
  dprintf(STDERR_FILENO, "no such ending: %s\n", variable("ENDS_HOW").c_str());
  std::abort();
}

const bool loaded = [] {
  ends("load");
  return true;
}();

class EndsHook final : public belay::Hook {
 public:
  static constexpr auto about = belay::about("ends", "Ends the process where it is told");
  EndsHook() { ends("hook.create"); }
  ~EndsHook() override { ends("hook.destroy"); }
  void begin(belay::Graph&) override { ends("hook.begin"); }
  void after_create_session(belay::Session&) override { ends("hook.after_create_session"); }
  belay::RunArgs before_run(belay::RunContext&) override {
    ends("hook.before_run");
    return {};
  }
  void after_run(belay::RunContext&, const belay::RunValues&) override {
    ends("hook.after_run");
    if (variable("ENDS_FAIL") != "") throw std::runtime_error("boom");
  }
  void end(belay::Session&) override { ends("hook.end"); }
  void before_save(belay::Session&, std::int64_t) override { ends("hook.before_save"); }
  bool after_save(belay::Session&, const belay::Saved&) override {
    ends("hook.after_save");
    return false;
  }
  void on_error(const belay::Error&) override { ends("hook.on_error"); }
  void save_state(belay::StateWriter&) const override { ends("hook.save_state"); }
  void load_state(const belay::StateReader&) override { ends("hook.load_state"); }
};

class EndsSaver final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("ends_saver", "Ends the process where it is told");
  EndsSaver() { ends("saver.create"); }
  void write(belay::Directory& directory, const belay::TensorSource& tensors) override {
    belay::File file = directory.create("data");
    for (std::uint64_t i = 0; i < tensors.count(); ++i) {
      const auto [name, value] = tensors.get(i);
      std::string line = std::string(name) + " " + std::to_string(static_cast<int>(value.dtype())) + " " +
                         std::to_string(value.bytes());
      for (const std::int64_t d : value.dims()) line += " " + std::to_string(d);
      line += "\n";
      file.write(line.data(), line.size());
      file.write(value.data(), value.bytes());
    }
    ends("saver.write");
    file.close();
  }
  void read(belay::Directory& directory, belay::TensorSink& tensors) override {
    ends("saver.read");
    const belay::File file = directory.open("data");
    for (std::uint64_t at = 0; at < file.size();) {
      std::string line;
      for (char c = 0; file.read_at(at++, &c, 1), c != '\n';) line += c;
      std::istringstream in(line);
      std::string name;
      int dtype = 0;
      std::uint64_t bytes = 0;
      belay::Dims dims;
      in >> name >> dtype >> bytes;
      for (std::int64_t d = 0; in >> d;) dims.push_back(d);
      if (void* memory = tensors.found(name, static_cast<belay::DType>(dtype), dims)) file.read_at(at, memory, bytes);
      at += bytes;
    }
  }
};

class EndsInitFn final : public belay::InitFn {
 public:
  static constexpr auto about = belay::about("ends_init_fn", "Ends the process where it is told");
  EndsInitFn() { ends("init_fn.create"); }
  void run(belay::Graph&, belay::Session&) override { ends("init_fn.run"); }
};

class EndsOp final : public belay::Op {
 public:
  struct Options {
    bool unused = false;
  };
  static constexpr auto about = belay::about("ends_op", "The identity, which ends the process where it is told",
                                             belay::option("unused", &Options::unused, "nothing"));
  static constexpr auto traits = belay::OpTraits().elementwise();
  explicit EndsOp(const Options&) {}
  void infer(belay::OpShapes& shapes) const override {
    ends("op.infer");
    shapes.output_like(0);
  }
  void prepare(const belay::OpSetup&) override { ends("op.prepare"); }
  void run(belay::OpRun& run) override {
    ends("op.run");
    std::memcpy(run.output(0).data<float>(), run.input(0).data<const float>(), run.input(0).size() * sizeof(float));
  }
  void gradient(belay::OpGradient& g) const override {
    ends("op.gradient");
    g.set(0, g.grad());
  }
};

class EndsModel final : public belay::Model {
 public:
  static constexpr auto about = belay::about("ends_model", "Ends the process where it is told");
  EndsModel() { ends("model.create"); }
  void build(belay::ModelContext& model) override {
    ends("model.build");
    const belay::Output x = belay::ops::dense(belay::feature_matrix(model), 1, {});
    belay::add_head(model, model.graph().node("EndsOp").in(x).output(), "regression");
  }
};

class EndsInput final : public belay::Input {
 public:
  static constexpr auto about = belay::about("ends_input", "Ends the process where it is told");
  EndsInput() { ends("input.create"); }
  void spec(belay::InputSpec& spec) override {
    ends("input.spec");
    x_ = spec.feature("x", belay::DType::kFloat32, {-1, 1});
    y_ = spec.label("y", belay::DType::kFloat32, {-1});
  }
  void open(const belay::OpenArgs& args) override {
    ends("input.open");
    order_ = belay::ExampleOrder({64, 8, false, 0}, args);
  }
  bool next(belay::Batch& batch, belay::Position& position) override {
    ends("input.next");
    const auto rows = static_cast<std::int64_t>(order_.batch().size());
    float* x = batch.tensor(x_, {rows, 1}).data<float>();
    float* y = batch.tensor(y_, {rows}).data<float>();
    for (std::int64_t i = 0; i < rows; ++i) y[i] = x[i] = static_cast<float>(i) * 0.01f;
    position = order_.advance();
    return true;
  }
  void seek(const belay::Position& position) override {
    ends("input.seek");
    order_.seek(position);
  }
  std::int64_t size() const override { return 64; }

 private:
  std::uint32_t x_ = 0, y_ = 0;
  belay::ExampleOrder order_;
};

}  // namespace

BELAY_MODULE("1.0.0", EndsHook, EndsSaver, EndsInitFn, EndsOp, EndsModel, EndsInput)
