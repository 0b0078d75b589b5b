// SPDX-License-Identifier: Apache-2.0
#include "folder_board.h"

#include <belay/error.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace belay_gloo {

FolderBoard::FolderBoard(std::string folder, bool owner) : folder_(std::move(folder)), owner_(owner) {
  if (::mkdir(folder_.c_str(), 0700) != 0 && errno != EEXIST)
    belay::fail(belay::Code::kUnavailable,
                "the folder '" + folder_ + "', the meeting place of the ranks, cannot be made");
}

FolderBoard::~FolderBoard() {
  std::error_code ignored;
  if (owner_) std::filesystem::remove_all(folder_, ignored);
}

void FolderBoard::put(const std::string& name, const std::string& value) {
  const std::string path = folder_ + "/" + name, unfinished = path + ".new";
  std::ofstream(unfinished, std::ios::binary) << value;
  if (std::rename(unfinished.c_str(), path.c_str()) != 0)
    belay::fail(belay::Code::kUnavailable,
                "'" + path + "' cannot be written: " + std::generic_category().message(errno));
}

std::string FolderBoard::get(const std::string& name) {
  std::ifstream file(folder_ + "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace belay_gloo
