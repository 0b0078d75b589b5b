// Writes the model's nodes, a line each: operation, name, and the names of its inputs.
#include <belay/plugin.h>

#include <string>

namespace {

class MyExporter final : public belay::Exporter {
 public:
  struct Options {
    bool variables = true;
  };
  static constexpr auto about =
      belay::about("my_exporter", "Writes the model's nodes, one per line",
                   belay::option("variables", &Options::variables, "true: also writes the variables"));

  explicit MyExporter(const Options& options) : options_(options) {}

  void write(const belay::ExportContext& model, belay::Directory& directory) override {
    std::string text;
    for (const belay::ExportNode& node : model.nodes()) {
      if (node.op() == "Variable" && !options_.variables) continue;
      text += node.op() + " " + node.name();
      for (std::uint32_t i = 0; i < node.n_inputs(); ++i) text += " " + node.input(i).name();
      text += "\n";
    }
    belay::File file = directory.create("nodes.txt");
    file.write(text.data(), text.size());
    file.close();
  }

  // Finds the mistakes that a reader of the format would find; the host compares the bytes by itself.
  void check(const belay::ExportContext&, const belay::Directory& directory) override {
    if (directory.open("nodes.txt").size() == 0) belay::fail(belay::Code::kDataLoss, "nodes.txt is empty");
  }

 private:
  const Options options_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyExporter)
