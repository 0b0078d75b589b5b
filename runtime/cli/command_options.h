// SPDX-License-Identifier: Apache-2.0
// The options of a command line as Boost.Program_options has them. The library stays behind this header.
#pragma once

#include <boost/program_options.hpp>
#include <string>
#include <vector>

namespace belay::runtime {

// The options and arguments ("argument") that are given; UsageError for what the command has not. Sets `help` where
// --help was given.
boost::program_options::variables_map parse_options(const std::string& command, const std::vector<std::string>& args,
                                                    bool& help);

}  // namespace belay::runtime
