// SPDX-License-Identifier: Apache-2.0
// TensorFlow's element types by the numbers of its files.
#pragma once

#include <belay/tensor.h>

#include <cstdint>
#include <string>

namespace tf_bundle {

// "float32", "qint8"; "type 99" of a number that has no name here.
std::string type_name(std::int32_t dtype);
// Bytes of an element; 0 of a string, and of a type that has no fixed size.
std::uint64_t type_width(std::int32_t dtype);
// kInvalid where belay does not have it.
belay::DType belay_type(std::int32_t dtype);

}  // namespace tf_bundle
