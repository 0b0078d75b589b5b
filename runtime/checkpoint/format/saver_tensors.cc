// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/format/saver_tensors.h"

#include <fmt/core.h>

#include <utility>

#include "runtime/checkpoint/format/tensor_bytes.h"
#include "runtime/platform/memory/checked_slot.h"
#include "runtime/platform/memory/guarded_memory.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

const NamedTensor& TensorsToWrite::get(std::uint64_t i) const {
  if (i >= tensors_.size())
    fail(Code::kInvalidArgument, fmt::format("[B4006] there is no tensor {}; there are {}", i, tensors_.size()));
  return tensors_[i];
}
void* TensorsToWrite::found(TensorInfo) {
  fail(Code::kFailedPrecondition, "[B4006] a saver that writes cannot announce tensors");
}

const NamedTensor& TensorsToRead::get(std::uint64_t) const {
  fail(Code::kFailedPrecondition, "[B4006] a saver that reads gets no tensors");
}

void* TensorsToRead::found(TensorInfo tensor) {
  // No variable has these types. They are listed and disturb nothing.
  const bool foreign_type = tensor.dtype == DType::kInvalid || tensor.dtype == DType::kString;
  if (!foreign_type && !byte_size(tensor.dtype, tensor.dims))
    fail(Code::kDataLoss,
         fmt::format("[B4007] tensor {} is {}, which has no size", single_quoted(tensor.name), form_text(tensor)));
  const auto [at, is_new] = all_.emplace(tensor.name, tensor);
  if (!is_new) fail(Code::kDataLoss, fmt::format("[B4007] tensor {} is there twice", single_quoted(tensor.name)));
  const auto wanted = wanted_.find(tensor.name);
  if (wanted == wanted_.end()) return nullptr;
  if (foreign_type)
    fail(Code::kUnimplemented, fmt::format("[B4008] tensor {} is of {}", single_quoted(tensor.name),
                                           tensor.dtype == DType::kString ? "strings, which belay does not restore"
                                                                          : "a type that belay does not have"));
  const TensorView view(wanted->second.tensor);
  const TensorInfo expected{tensor.name, view.dtype(), view.dims()};
  if (expected != tensor)
    fail(Code::kDataLoss, fmt::format("[B4007] tensor {} is {}; {} was expected", single_quoted(tensor.name),
                                      form_text(tensor), form_text(expected)));
  return wanted->second.tensor.data;
}

namespace {

void check_guards_of(const NamedTensor& t) {
  if (t.guarded && t.tensor.data != nullptr && !guards_hold(t.tensor.data, t.tensor.bytes))
    fail_outside("tensor " + single_quoted(t.name), t.tensor.data, t.tensor.bytes);
}

}  // namespace

void TensorsToWrite::check_guards() const {
  for (const NamedTensor& t : tensors_) check_guards_of(t);
}

void TensorsToRead::check_guards() const {
  for (const auto& [name, t] : wanted_) check_guards_of(t);
}

namespace {

SaverTensors& from(belay_tensors* t) noexcept { return *reinterpret_cast<SaverTensors*>(t); }

std::uint64_t count(belay_tensors* t) { return from(t).count(); }
std::int32_t get(belay_tensors* t, std::uint64_t i, belay_str* name, belay_tensor* tensor, belay_status* status) {
  return belay::detail::guard(status, [&] {
    const NamedTensor& named = from(t).get(i);
    *name = belay::detail::str(named.name);
    *tensor = named.tensor;
    tensor->flags |= BELAY_TENSOR_READ_ONLY;
  });
}
std::int32_t found(belay_tensors* t, belay_str name, std::int32_t dtype, std::int32_t rank, const std::int64_t* dims,
                   void** data, belay_status* status) {
  return belay::detail::guard(status, [&] {
    if (rank < 0 || rank > belay::detail::kMaxRank)
      fail(Code::kInvalidArgument, fmt::format("[B4006] a tensor cannot have rank {}", rank));
    *data = from(t).found({std::string(belay::detail::view(name)), static_cast<DType>(dtype),
                           rank == 0 ? Dims{} : Dims(dims, dims + rank)});
  });
}

constexpr belay_saver_service kTable{sizeof(belay_saver_service), 0, checked<count, belay::detail::name_of_saver_count>,
                                     checked<get, belay::detail::name_of_saver_get>,
                                     checked<found, belay::detail::name_of_saver_found>};

}  // namespace

void check_guards(belay_tensors* tensors) { from(tensors).check_guards(); }

void call_write(const SaverUse& saver, belay_dir* directory, belay_tensors* tensors) {
  if (saver.write) return saver.write(directory, tensors);
  detail::Status status;
  const std::int32_t code = saver.table->write(saver.self, directory, tensors, status);
  if (code != BELAY_OK)
    fail(static_cast<Code>(code), "saver " + single_quoted(saver.name) + ": " + std::string(status.message()));
}

void call_read(const SaverUse& saver, belay_dir* directory, belay_tensors* tensors) {
  if (saver.read) return saver.read(directory, tensors);
  detail::Status status;
  const std::int32_t code = saver.table->read(saver.self, directory, tensors, status);
  if (code != BELAY_OK)
    fail(static_cast<Code>(code), "saver " + single_quoted(saver.name) + ": " + std::string(status.message()));
}

const belay_saver_service* saver_service() noexcept { return &kTable; }

}  // namespace belay::runtime
