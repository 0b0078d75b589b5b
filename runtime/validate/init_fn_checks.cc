// SPDX-License-Identifier: Apache-2.0
// Checks an init function on synthetic variables, with a synthetic checkpoint.
#include "belay/testing/testing.h"
#include "runtime/validate/check.h"

namespace belay::runtime {
namespace init_fn_cases {

using belay::testing::DriverSetup;
using belay::testing::InitFnDriver;

void add_variables(InitFnDriver& init, const Subject& subject) {
  init.variable("dense/kernel", Tensor({2}, {0.f, 0.f}));
  init.variable("dense/bias", Tensor(0.f));
  init.variable("embedding/table", Tensor({3, 2}, {0.f, 0.f, 0.f, 0.f, 0.f, 0.f}));
  init.variable("global_step", Tensor(std::int64_t{0}), false);
  for (const std::string& path : subject.chosen.paths)
    init.checkpoints().add(path, {{"dense/kernel", Tensor({2}, {1.f, 2.f})},
                                  {"dense/bias", Tensor(3.f)},
                                  {"embedding/table", Tensor({3, 2}, {1.f, 2.f, 3.f, 4.f, 5.f, 6.f})},
                                  {"global_step", Tensor(std::int64_t{100})}});
}

void runs(const Subject& subject) {
  InitFnDriver init(subject.module, subject.options(), setup_of(subject));
  add_variables(init, subject);
  needs("run", "the synthetic model (dense/kernel, dense/bias, embedding/table, global_step)", [&] { init.run(); });
  for (const char* name : {"dense/kernel", "dense/bias", "embedding/table"})
    if (init.value(name).dtype() != DType::kFloat32) throw CheckFailed(std::string("it changed the type of ") + name);
}

void damaged_checkpoint(const Subject& subject) {
  InitFnDriver init(subject.module, subject.options(), setup_of(subject));
  init.variable("dense/kernel", Tensor({2}, {0.f, 0.f}));
  for (const std::string& path : subject.chosen.paths)
    init.checkpoints().add_damaged(path, Error(Code::kDataLoss, "synthetic, by belay validate"));
  may_refuse("a damaged checkpoint", [&] { init.run(); });
}

void no_variables(const Subject& subject) {
  InitFnDriver init(subject.module, subject.options(), setup_of(subject));
  may_refuse("a graph without variables", [&] { init.run(); });
}

void missing_services(const Subject& subject) {
  for (const char* service : {"core", "graph", "session", "checkpoint"}) {
    DriverSetup setup = setup_of(subject);
    setup.without = {service};
    may_refuse(std::string("a host without service '") + service + "'", [&] {
      InitFnDriver init(subject.module, subject.options(), setup);
      add_variables(init, subject);
      init.run();
    });
  }
}

}  // namespace init_fn_cases

std::vector<Check> init_fn_checks() {
  using namespace init_fn_cases;
  return {{"drive.runs", runs},
          {"faults.damaged_checkpoint", damaged_checkpoint},
          {"faults.no_variables", no_variables},
          {"faults.missing_services", missing_services}};
}

}  // namespace belay::runtime
