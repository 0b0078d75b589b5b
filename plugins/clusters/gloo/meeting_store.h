// SPDX-License-Identifier: Apache-2.0
// Where ranks leave their addresses for each other: files in a folder that all of them see. Unlike Gloo's FileStore its
// waits end when there is no one to wait for any more.
#pragma once

#include <gloo/rendezvous/store.h>

#include <chrono>
#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace belay_gloo {

class MeetingStore final : public gloo::rendezvous::Store {
 public:
  // `check` throws where waiting is of no use.
  MeetingStore(std::string folder, std::function<void()> check)
      : folder_(std::move(folder)), check_(std::move(check)) {}
  void set(const std::string& key, const std::vector<char>& data) override;
  std::vector<char> get(const std::string& key) override;
  void wait(const std::vector<std::string>& keys) override { wait(keys, kDefaultTimeout); }
  // gloo::IoException when it takes longer.
  void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& limit) override;

 private:
  std::string file_of(const std::string& key) const;

  const std::string folder_;
  const std::function<void()> check_;
};

}  // namespace belay_gloo
