// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/write/unfinished_directory.h"

#include <fmt/core.h>

#include <exception>
#include <utility>

#include "belay/error.h"
#include "runtime/platform/text/text.h"

namespace belay::runtime {

UnfinishedDirectory::UnfinishedDirectory(OpenDirectory& parent, std::string name, std::string temporary, Logger& log)
    : parent_(parent), log_(log), name_(std::move(name)), temporary_(std::move(temporary)) {
  try {
    directory_ = parent_.make_directory(temporary_);
  } catch (const Error&) {
    if (parent_.exists(temporary_)) attempt([&] { parent_.remove_tree(temporary_); });
    throw;
  }
}

UnfinishedDirectory::~UnfinishedDirectory() {
  if (finished_) return;
  directory_.reset();
  if (placed_) attempt([&] { parent_.rename(name_, temporary_); });
  if (!aside_.empty()) attempt([&] { parent_.rename(aside_, name_); });
  attempt([&] { parent_.remove_tree(temporary_); });
}

void UnfinishedDirectory::place(const std::string& aside) {
  directory_->sync();
  directory_.reset();
  if (parent_.exists(name_)) {
    if (aside.empty())
      fail(Code::kAlreadyExists, fmt::format("[B4028] {} was made by another process meanwhile",
                                             single_quoted(parent_.path() + "/" + name_)));
    parent_.rename(name_, aside);
    aside_ = aside;
  }
  parent_.rename(temporary_, name_);
  placed_ = true;
  parent_.sync();
  finished_ = true;
  if (!aside_.empty()) attempt([&] { parent_.remove_tree(aside_); });
}

template <class F>
void UnfinishedDirectory::attempt(F&& f) noexcept {
  try {
    f();
  } catch (const std::exception& e) {
    log_.warning("checkpoint", std::string("cannot clean up after a save: ") + e.what());
  }
}

}  // namespace belay::runtime
