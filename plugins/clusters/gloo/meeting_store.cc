// SPDX-License-Identifier: Apache-2.0
#include "meeting_store.h"

#include <gloo/common/error.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

namespace belay_gloo {

// Keys are "rank/0" and the like.
std::string MeetingStore::file_of(const std::string& key) const {
  std::string name;
  for (const char c : key) name += c == '/' ? '-' : c;
  return folder_ + "/gloo-" + name;
}

// Appears whole.
void MeetingStore::set(const std::string& key, const std::vector<char>& data) {
  const std::string path = file_of(key), unfinished = path + ".new";
  {
    std::ofstream file(unfinished, std::ios::binary);
    file.write(data.data(), static_cast<std::streamsize>(data.size()));
  }
  if (std::rename(unfinished.c_str(), path.c_str()) != 0) throw gloo::IoException("'" + path + "' cannot be written");
}

std::vector<char> MeetingStore::get(const std::string& key) {
  wait({key});
  std::ifstream file(file_of(key), std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void MeetingStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) {
  constexpr std::chrono::milliseconds kPause{5};
  const auto end = std::chrono::steady_clock::now() + limit;
  for (const std::string& key : keys)
    while (::access(file_of(key).c_str(), R_OK) != 0) {
      check_();
      if (std::chrono::steady_clock::now() > end) throw gloo::IoException("no rank has written '" + key + "'");
      std::this_thread::sleep_for(kPause);
    }
}

}  // namespace belay_gloo
