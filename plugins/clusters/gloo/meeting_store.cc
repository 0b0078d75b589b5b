// SPDX-License-Identifier: Apache-2.0
#include "meeting_store.h"

#include <gloo/common/error.h>

#include <thread>

namespace belay_gloo {
namespace {

// Keys are "rank/0" and the like.
std::string name_on_board(const std::string& key) {
  std::string name = "gloo-";
  for (const char c : key) name += c == '/' ? '-' : c;
  return name;
}

}  // namespace

void MeetingStore::set(const std::string& key, const std::vector<char>& data) {
  board_.put(name_on_board(key), std::string(data.begin(), data.end()));
}

std::vector<char> MeetingStore::get(const std::string& key) {
  wait({key});
  const std::string value = board_.get(name_on_board(key));
  return {value.begin(), value.end()};
}

void MeetingStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const std::string& key : keys)
    while (board_.get(name_on_board(key)).empty()) {
      check_();
      if (std::chrono::steady_clock::now() > end) throw gloo::IoException("no rank has written '" + key + "'");
      std::this_thread::sleep_for(kPause);
    }
}

}  // namespace belay_gloo
