// SPDX-License-Identifier: Apache-2.0
// The array of a .npy file as a variable's value.
#pragma once

#include <belay/session.h>
#include <belay/tensor.h>

#include <string>

namespace assign_init {

// Its shape must be the variable's. Numbers are converted to the variable's type: a floating-point one rounds, and
// takes integers; an integer one takes integers that it can hold, a bool the array of bools. INVALID_ARGUMENT with the
// variable and the file for anything else; DATA_LOSS where the file is damaged.
belay::Tensor read_npy_value(const std::string& path, const belay::VariableInfo& variable);

}  // namespace assign_init
