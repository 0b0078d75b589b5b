// SPDX-License-Identifier: Apache-2.0
// One oneDNN primitive with its arguments, made once and executed at every step. It may hold scratch memory: one run at
// a time. Sources of kernels only: this header includes oneDNN's.
#pragma once

#include <dnnl.hpp>
#include <memory>
#include <string>
#include <vector>

#include "runtime/graph/kernel.h"

namespace belay::runtime {

// Why there is no such primitive. `what`: "convolution of 3 x 3 by 5 x 5". RESOURCE_EXHAUSTED for want of memory, else
// INTERNAL.
[[noreturn]] void fail_onednn(const std::string& what, const dnnl::error& error);

class OnednnCall {
 public:
  using Desc = dnnl::memory::desc;

  // What every call shares: oneDNN's processor and queue. Cheap to make.
  struct Place {
    dnnl::engine engine{dnnl::engine::kind::cpu, 0};
    dnnl::stream stream{engine};
  };

  // `what` names it in an error: "convolution".
  OnednnCall(Place& place, const char* what) : place_(place), what_(what) {}

  // The primitive that is described, and the scratch memory that it asks for (attribute scratchpad_mode::user).
  // RESOURCE_EXHAUSTED if there is no memory for its code: oneDNN 2 would crash.
  template <class Primitive>
  void set(const typename Primitive::primitive_desc& description) {
    require_room_for_code();
    keep(Primitive(description), description.scratchpad_desc());
  }
  // An argument that lies where point() says, by the order of these calls.
  void add(int id, const Desc& desc);
  // An argument in memory that the caller keeps.
  void add(int id, const dnnl::memory& memory) { list_.push_back({id, memory.get()}); }

  void point(std::size_t argument, const void* data) {
    Argument& a = arguments_[argument];
    if (a.data == data) return;
    a.memory.set_data_handle(const_cast<void*>(data));
    a.data = data;
  }
  // Throws INTERNAL where oneDNN fails.
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

// A primitive whose caller has plain tensors: an operand whose layout the primitive does not take is brought into it
// first, and stays so until its version (TensorSpec.version) changes, where it has one; a result is brought back. The
// tensors of run() come in the order of the calls.
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
  // In memory that the caller keeps.
  void add(int id, const dnnl::memory& memory) { call_.add(id, memory); }
  void run(void* const* tensors);

 private:
  static constexpr std::uint64_t kNothing = ~std::uint64_t{0};
  struct Operand {
    bool input = false;
    std::size_t argument = 0;             // of call_, where the layouts agree
    std::unique_ptr<OnednnCall> reorder;  // where they do not
    const Version* version = nullptr;
    std::uint64_t kept = kNothing;  // of which version the operand in the primitive's layout is
  };
  void add(int id, const Desc& tensor, const Desc& inner, bool input);

  std::unique_ptr<OnednnCall::Place> place_;
  OnednnCall call_;
  std::size_t n_arguments_ = 0;
  std::vector<Operand> operands_;
  std::vector<dnnl::memory> inner_;
};

}  // namespace belay::runtime
