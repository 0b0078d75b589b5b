// SPDX-License-Identifier: Apache-2.0
// The board of a meeting as Gloo asks for it. Unlike Gloo's own stores its waits end when there is no one to wait for
// any more.
#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "board.h"

namespace belay_gloo {

class MeetingStore final : public gloo::rendezvous::Store {
 public:
  // `board` is borrowed; `check` throws where waiting is of no use.
  MeetingStore(Board& board, std::function<void()> check) : board_(board), check_(std::move(check)) {}
  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, kDefaultTimeout); }
  // gloo::IoException when it takes longer.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) override;

 private:
  Board& board_;
  const std::function<void()> check_;
};

}  // namespace belay_gloo
