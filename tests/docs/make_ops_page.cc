// SPDX-License-Identifier: Apache-2.0
#include <iostream>

#include "tests/docs/ops_page.h"

int main() { std::cout << belay::runtime::ops_page(); }
