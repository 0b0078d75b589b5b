// SPDX-License-Identifier: Apache-2.0
// Service "input": what an input plugin declares and the batches that it fills.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "belay/abi.h"
#include "belay/model.h"
#include "runtime/graph/dense_tensor.h"

namespace belay::runtime {

struct InputComponent {
  bool label = false;
  std::string name;
  DType dtype = DType::kInvalid;
  Dims dims;
  std::int64_t classes = 0;              // values are in [0, classes); 0: not said
  std::vector<std::string> class_names;  // by value, all different; empty: not said
};

// The feature or label of an input that says which example it is; predictions carry it along.
inline constexpr std::string_view kIdName = "id";
// Whether it is for predictions alone, and none of the model's features and labels: an id of strings, or one that is a
// label beside others.
bool is_only_an_id(const std::vector<InputComponent>& components, const InputComponent& component);

// Behind belay_input_spec.
struct InputDeclaration {
  std::vector<InputComponent> components;
};

// Behind belay_batch: the tensors of one batch, in memory from a pool.
class BatchBuilder {
 public:
  BatchBuilder(const InputDeclaration& declaration, std::shared_ptr<BufferPool> pool)
      : declaration_(declaration), pool_(std::move(pool)) {}
  void begin(std::vector<DenseTensor> empty);
  belay_tensor tensor(std::uint32_t slot, const Dims& dims);
  void set_string(std::uint32_t slot, std::uint64_t element, std::string_view bytes);
  // Every component filled, with the same number of examples; INTERNAL naming the one that is not.
  std::vector<DenseTensor> finish();

 private:
  const InputComponent& component(std::uint32_t slot) const;

  const InputDeclaration& declaration_;
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
