// Sets chosen variables to one value when a run begins. It is not called if a checkpoint is restored.
#include <belay/plugin.h>

#include <string>
#include <vector>

namespace {

class MyInitFn final : public belay::InitFn {
 public:
  struct Options {
    belay::List<belay::Str> variables;
    double value = 0;
  };
  static constexpr auto about =
      belay::about("my_init_fn", "Sets chosen variables to one value",
                   belay::option("variables", &Options::variables, "names of float32 variables").required(),
                   belay::option("value", &Options::value, "value of each element"));

  explicit MyInitFn(const Options& options) : options_(options) {}

  void run(belay::Graph&, belay::Session& session) override {
    const std::vector<belay::VariableInfo> known = session.variables();
    for (const belay::Str& name : options_.variables) session.assign(name, filled(find(known, name)));
    host().info("set to " + std::to_string(options_.value) + ": " + std::to_string(options_.variables.size()) +
                " variables");
  }

 private:
  static const belay::VariableInfo& find(const std::vector<belay::VariableInfo>& known, std::string_view name) {
    std::string names;
    for (const belay::VariableInfo& v : known) {
      if (v.name == name) return v;
      names += (names.empty() ? "" : ", ") + v.name;
    }
    belay::fail(belay::Code::kNotFound, "there is no variable '" + std::string(name) + "'; there are: " + names);
  }

  belay::Tensor filled(const belay::VariableInfo& variable) const {
    if (variable.dtype != belay::DType::kFloat32)
      belay::fail(belay::Code::kInvalidArgument, "variable '" + variable.name + "' is " +
                                                     std::string(belay::dtype_name(variable.dtype)) + ", not float32");
    belay::Tensor value(variable.dtype, variable.dims);
    float* element = belay::TensorView(value.view()).data<float>();
    for (std::size_t i = 0; i < value.size(); ++i) element[i] = static_cast<float>(options_.value);
    return value;
  }

  const Options options_;
};

}  // namespace

BELAY_MODULE("0.1.0", MyInitFn)
