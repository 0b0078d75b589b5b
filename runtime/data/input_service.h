// SPDX-License-Identifier: Apache-2.0
// Service "input": what an input plugin declares and the batches that it fills.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "belay/model.h"
#include "runtime/data/schema.h"
#include "runtime/graph/dense_tensor.h"

namespace belay::runtime {

// Behind belay_input_spec.
struct InputDeclaration {
  Schema own;  // what the input declares
  InputUse use = InputUse::kTraining;
  const Schema* learned = nullptr;  // the training's; null: none is known
  std::vector<belay_str> words;     // what was asked for last
};

// Behind belay_batch: the tensors of one batch, in memory from a pool.
class BatchBuilder {
 public:
  // `components` as the input declared them; borrowed.
  BatchBuilder(const std::vector<InputComponent>& components, std::shared_ptr<BufferPool> pool)
      : components_(components), pool_(std::move(pool)) {}
  void begin(std::vector<DenseTensor> empty);
  belay_tensor tensor(std::uint32_t slot, const Dims& dims);
  void set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes);
  // Every component filled, with the same number of examples; INTERNAL naming the one that is not.
  std::vector<DenseTensor> finish();

 private:
  const InputComponent& component(std::uint32_t slot) const;

  const std::vector<InputComponent>& components_;
  std::shared_ptr<BufferPool> pool_;
  std::vector<DenseTensor> tensors_;
};

// What the model learns of the labels in every mode; of those that are only ids nothing.
std::vector<DeclaredLabel> declared_labels(const std::vector<InputComponent>& components);

const belay_input_service* input_service() noexcept;

inline belay_input_spec* to_handle(InputDeclaration* d) noexcept { return reinterpret_cast<belay_input_spec*>(d); }
inline InputDeclaration& from_handle(belay_input_spec* d) noexcept { return *reinterpret_cast<InputDeclaration*>(d); }
inline belay_batch* to_handle(BatchBuilder* b) noexcept { return reinterpret_cast<belay_batch*>(b); }
inline BatchBuilder& from_handle(belay_batch* b) noexcept { return *reinterpret_cast<BatchBuilder*>(b); }

}  // namespace belay::runtime
