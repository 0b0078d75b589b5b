// SPDX-License-Identifier: Apache-2.0
#include "runtime/ops/kernels/onednn_call.h"

#include <fmt/core.h>

#include <string>

#include "belay/error.h"
#include "runtime/platform/memory/memory.h"
#include "runtime/platform/process/resources.h"

namespace belay::runtime {

void fail_onednn(const std::string& what, const dnnl::error& error) {
  if (error.status == dnnl_out_of_memory) fail_no_memory("oneDNN's " + what);
  fail(Code::kInternal, "oneDNN offers no " + what + ": " + error.what());
}

namespace {

// Makes oneDNN write the code of its matrix products, which takes 6 MiB. Otherwise the threads of the first step write
// it.
bool write_code_of_products() {
  constexpr dnnl_dim_t kSize = 8;
  float a[kSize * kSize] = {}, b[kSize * kSize] = {}, c[kSize * kSize] = {};
  const dnnl_status_t status = dnnl_sgemm('N', 'N', kSize, kSize, kSize, 1.0F, a, kSize, b, kSize, 0.0F, c, kSize);
  if (status != dnnl_success) fail_no_memory("the code of oneDNN's matrix products");
  return true;
}

}  // namespace

// oneDNN writes the code of a primitive into pieces of 256 KiB. A large primitive needs some dozens. It does not check
// that it got them, so a step must not be the first that needs them.
void OnednnCall::require_room_for_code() {
  constexpr std::size_t kMost = std::size_t{8} << 20;
  if (!has_address_space(kMost)) fail_no_memory("the code of a oneDNN primitive");
  if (memory_limit_of_process().empty()) return;
  static const bool written = write_code_of_products();
  static_cast<void>(written);
  if (!has_address_space(kMost)) fail_no_memory("the code of a oneDNN primitive");
}

void OnednnCall::keep(const dnnl::primitive& primitive, const Desc& scratch) {
  primitive_ = primitive;
  if (scratch.get_size() == 0) return;
  scratch_ = dnnl::memory(scratch, place_.engine);
  add(DNNL_ARG_SCRATCHPAD, scratch_);
}

void OnednnCall::add(int id, const Desc& desc) {
  arguments_.push_back({dnnl::memory(desc, place_.engine, nullptr), nullptr});
  add(id, arguments_.back().memory);
}

void OnednnCall::run() {
  const dnnl_status_t status =
      dnnl_primitive_execute(primitive_.get(), place_.stream.get(), static_cast<int>(list_.size()), list_.data());
  if (status != dnnl_success)
    fail(Code::kInternal, fmt::format("oneDNN's {} failed with status {}", what_, static_cast<int>(status)));
}

void OnednnPlainCall::add(int id, const Desc& tensor, const Desc& inner, bool input) {
  Operand operand;
  operand.input = input;
  if (tensor == inner) {
    call_.add(id, inner);
    operand.argument = n_arguments_++;
  } else {
    inner_.emplace_back(inner, place_->engine);
    call_.add(id, inner_.back());
    dnnl::primitive_attr attr;
    attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    const Desc &from = input ? tensor : inner, &to = input ? inner : tensor;
    const dnnl::reorder::primitive_desc primitive(place_->engine, from, place_->engine, to, attr);
    operand.reorder = std::make_unique<OnednnCall>(*place_, "change of layout");
    operand.reorder->set<dnnl::reorder>(primitive);
    operand.reorder->add(input ? DNNL_ARG_FROM : DNNL_ARG_TO, tensor);
    operand.reorder->add(input ? DNNL_ARG_TO : DNNL_ARG_FROM, inner_.back());
  }
  operands_.push_back(std::move(operand));
}

void OnednnPlainCall::run(void* const* tensors) {
  for (std::size_t i = 0; i < operands_.size(); ++i) {
    Operand& o = operands_[i];
    if (o.reorder == nullptr) {
      call_.point(o.argument, tensors[i]);
      continue;
    }
    const std::uint64_t version = o.version == nullptr ? kNothing : o.version->load(std::memory_order_relaxed);
    if (o.version != nullptr && version == o.kept) continue;
    o.reorder->point(0, tensors[i]);
    if (o.input) o.reorder->run();
    o.kept = version;
  }
  call_.run();
  for (Operand& o : operands_)
    if (o.reorder != nullptr && !o.input) o.reorder->run();
}

}  // namespace belay::runtime
