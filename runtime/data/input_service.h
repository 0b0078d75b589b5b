// SPDX-License-Identifier: Apache-2.0
// The service "input": an input plugin's declaration, and the batches that it fills.
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

// The object that belay_input_spec points to.
struct InputDeclaration {
  Schema own;  // the input's declaration
  InputUse use = InputUse::kTraining;
  const Schema* learned = nullptr;  // the training's; null: it is unknown
  std::vector<belay_str> words;     // the last answer
};

// The object that belay_batch points to: the tensors of one batch, in memory from a pool.
class BatchBuilder {
 public:
  // `components` is the input's declaration, borrowed.
  BatchBuilder(const std::vector<InputComponent>& components, std::shared_ptr<BufferPool> pool)
      : components_(components), pool_(std::move(pool)) {}
  void begin(std::vector<DenseTensor> empty);
  belay_tensor tensor(std::uint32_t slot, const Dims& dims);
  void set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes);
  // Returns all components, with the same number of examples. INTERNAL names one that is not filled or has another
  // number.
  std::vector<DenseTensor> finish();

 private:
  const InputComponent& component(std::uint32_t slot) const;

  const std::vector<InputComponent>& components_;
  std::shared_ptr<BufferPool> pool_;
  std::vector<DenseTensor> tensors_;
};

// Returns the facts about labels that the model gets in every mode. Labels that are only ids are left out.
std::vector<DeclaredLabel> declared_labels(const std::vector<InputComponent>& components);
// Returns the same, with the facts that the training's input kept: "label.counts" and "label.moments" of the label
// `label`.
std::vector<DeclaredLabel> declared_labels(const Schema& schema);

const belay_input_service* input_service() noexcept;

inline belay_input_spec* to_handle(InputDeclaration* d) noexcept { return reinterpret_cast<belay_input_spec*>(d); }
inline InputDeclaration& from_handle(belay_input_spec* d) noexcept { return *reinterpret_cast<InputDeclaration*>(d); }
inline belay_batch* to_handle(BatchBuilder* b) noexcept { return reinterpret_cast<belay_batch*>(b); }
inline BatchBuilder& from_handle(belay_batch* b) noexcept { return *reinterpret_cast<BatchBuilder*>(b); }

}  // namespace belay::runtime
