// SPDX-License-Identifier: Apache-2.0
// TensorFlow's element types by the numbers in its files.
#pragma once

#include <belay/tensor.h>

#include <cstdint>
#include <string>

namespace tf_bundle {

// Returns "float32" or "qint8", or "type 99" for a number without a name here.
std::string type_name(std::int32_t dtype);
// Returns the bytes of an element; 0: a string, or a type without a fixed size.
std::uint64_t type_width(std::int32_t dtype);
// Returns kInvalid if Belay does not have the type.
belay::DType belay_type(std::int32_t dtype);

}  // namespace tf_bundle
