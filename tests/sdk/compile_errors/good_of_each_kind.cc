// SPDX-License-Identifier: Apache-2.0
// Compiles: callbacks that a base class brings, a callback that is noexcept, names that are free for
// this kind, a version in a variable, a module in a namespace and with a semicolon.
#include <belay/plugin.h>

namespace good {

class Base : public belay::Hook {
 public:
  void begin(belay::Graph& graph) override { step_ = graph.global_step(); }
  void end(belay::Session&) noexcept override {}

 protected:
  belay::Fetch<std::int64_t> step_;
};
class Derived final : public Base {
 public:
  struct Options {
    int prefetch = 1;
    belay::Str Way_2 = "fast";
  };
  static constexpr auto about =
      belay::about("some", "Its begin is its base's", belay::option("prefetch", &Options::prefetch, "a number"),
                   belay::option("Way-2", &Options::Way_2, "a text"));
  explicit Derived(Options) {}
};

class Codec final : public belay::Saver {
 public:
  static constexpr auto about = belay::about("some", "Has the name of another kind's");
  void write(belay::Directory&, const belay::TensorSource&) override {}
  void read(belay::Directory&, belay::TensorSink&) override {}
};

class Start final : public belay::InitFn {
 public:
  static constexpr auto about = belay::about("start", "Sets nothing");
  void run(belay::Graph&, belay::Session&) override {}
};

class Net final : public belay::Model {
 public:
  static constexpr auto about = belay::about("net", "Has no loss");
  void build(belay::ModelContext&) override {}
};

class Empty final : public belay::Input {
 public:
  static constexpr auto about = belay::about("empty", "Has no batch");
  void spec(belay::InputSpec&) override {}
  void open(const belay::OpenArgs&) override {}
  bool next(belay::Batch&, belay::Position&) override { return false; }
  void seek(const belay::Position&) override {}
  std::int64_t size() const override { return 0; }
};

class Same final : public belay::Op {
 public:
  struct Options {
    belay::Str name, file;
  };
  static constexpr auto about =
      belay::about("same", "Its options are attributes, no keys of a manifest",
                   belay::option("name", &Options::name, "a text"), belay::option("file", &Options::file, "another"));
  static constexpr auto traits = belay::OpTraits().elementwise();
  explicit Same(const Options&) {}
  void infer(belay::OpShapes& shapes) const override { shapes.output_like(0); }
  void prepare(const belay::OpSetup&) override {}
  void run(belay::OpRun&) override {}
};

constexpr const char* kVersion = "1.0.0";
BELAY_MODULE(kVersion, Derived, Codec, Start, Net, Empty, Same);

}  // namespace good
