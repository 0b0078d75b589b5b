// SPDX-License-Identifier: Apache-2.0
// Reads the array of a .npy file as a variable's value.
#pragma once

#include <belay/session.h>
#include <belay/tensor.h>

#include <string>

namespace assign_init {

// Its shape must be the variable's. Numbers are converted to the variable's type. A floating-point type rounds, and
// takes integers. An integer type takes integers in its range. bool takes an array of bools. INVALID_ARGUMENT names the
// variable and the file for anything else. DATA_LOSS: the file is damaged.
belay::Tensor read_npy_value(const std::string& path, const belay::VariableInfo& variable);

}  // namespace assign_init
