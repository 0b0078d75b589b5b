// SPDX-License-Identifier: Apache-2.0
// One oneDNN primitive with its arguments, made once and executed at every step. It may hold scratch memory, so only
// one run is allowed at a time. Only sources of kernels include this header, since it includes oneDNN's.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Fails with the reason why the primitive cannot be made. `what`: "convolution of 3 x 3 by 5 x 5". RESOURCE_EXHAUSTED:
// there is no memory. Else INTERNAL.
[[noreturn]] void fail_onednn(const std::string& what, const dnnl::error& error);

class OnednnCall {
 public:
  using Desc = dnnl::memory::desc;

  // All calls share oneDNN's processor and queue. It is cheap to make.
  struct Place {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
  };

  // `what` names the call in an error: "convolution".
  OnednnCall(Place& place, const char* what) : place_(place), what_(what) {}

  // Makes the described primitive and its scratch memory (attribute scratchpad_mode::user). RESOURCE_EXHAUSTED: there
  // is no memory for its code. oneDNN 2 would crash then.
  template <class Primitive>
  void set(const typename Primitive::primitive_desc& description) {
    require_room_for_code();
    keep(Primitive(description), description.scratchpad_desc());
  }
  // Adds an argument whose address point() sets. Its number is the order of these calls.
  void add(int id, const Desc& desc);
  // Adds an argument in memory that the caller keeps.
  void add(int id, const dnnl::memory& memory) { list_.push_back({id, memory.get()}); }

  void point(std::size_t argument, const void* data) {
    Argument& a = arguments_[argument];
    if (a.data == data) return;
    a.memory.set_data_handle(const_cast<void*>(data));
    a.data = data;
  }
  // INTERNAL: oneDNN fails.
  void run();

 private:
  struct Argument {
    dnnl::memory memory;
    const void* data = nullptr;
  };

  static void require_room_for_code();
  void keep(const dnnl::primitive& primitive, const Desc& scratch);

  Place& place_;
  const char* what_;
  dnnl::primitive primitive_;
  dnnl::memory scratch_;
  std::vector<Argument> arguments_;
  std::vector<dnnl_exec_arg_t> list_;
};

// A primitive for a caller with plain tensors. If the primitive needs another layout, an operand is first converted.
// The converted operand is kept until its version (TensorSpec.version) changes, if it has one. A result is converted
// back. run() takes the tensors in the order of the calls.
class OnednnPlainCall {
 public:
  using Desc = OnednnCall::Desc;
  explicit OnednnPlainCall(const char* what) : place_(std::make_unique<OnednnCall::Place>()), call_(*place_, what) {}

  const dnnl::engine& engine() const noexcept { return place_->engine; }
  template <class Primitive>
  void set(const typename Primitive::primitive_desc& description) {
    call_.set<Primitive>(description);
  }
  void add_input(int id, const Desc& tensor, const Desc& wanted, const Version* version = nullptr) {
    add(id, tensor, wanted, true);
    operands_.back().version = version;
  }
  void add_output(int id, const Desc& tensor, const Desc& given) { add(id, tensor, given, false); }
  // Adds an argument in memory that the caller keeps.
  void add(int id, const dnnl::memory& memory) { call_.add(id, memory); }
  void run(void* const* tensors);

 private:
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  struct Operand {
    bool input = false;
    std::size_t argument = 0;             // of call_, if the layouts are equal
    std::unique_ptr<OnednnCall> reorder;  // if they differ
    const Version* version = nullptr;
    std::uint64_t kept = kNothing;  // version of the operand that is kept in the primitive's layout
  };
  void add(int id, const Desc& tensor, const Desc& inner, bool input);

  std::unique_ptr<OnednnCall::Place> place_;
  OnednnCall call_;
  std::size_t n_arguments_ = 0;
  std::vector<Operand> operands_;
  std::vector<dnnl::memory> inner_;
};

}  // namespace belay::runtime
