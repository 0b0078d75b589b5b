// SPDX-License-Identifier: Apache-2.0
// A connection to a Redis server, by hiredis.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct redisContext;
struct redisReply;

namespace belay_gloo {

// redis://HOST, redis://HOST:PORT, each with /JOB behind it; HOST may be [an IPv6 address].
struct RedisAddress {
  std::string host;
  int port = 6379;
  std::string job;  // what the keys begin with; empty: not given
  std::string url;  // as written
};
// INVALID_ARGUMENT with how it is written.
RedisAddress redis_address(const std::string& url);

// Of one thread. A command that fails is FAILED_PRECONDITION with the address and what to do.
class Redis {
 public:
  // The password of the server, if it wants one, is the environment's REDISCLI_AUTH, which redis-cli uses, too.
  explicit Redis(const RedisAddress& address);
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // Empty: there is no such key.
  std::string get(const std::string& key);
  // It is gone after so long.
  void set(const std::string& key, const std::string& value, long long milliseconds);
  // False: the key is there, and stays as it is.
  bool set_new(const std::string& key, const std::string& value, long long milliseconds);
  // False: there is no such key.
  bool keep(const std::string& key, long long milliseconds);
  void remove(const std::string& key);

 private:
  using Reply = std::unique_ptr<redisReply, void (*)(redisReply*)>;
  Reply call(const std::vector<std::string>& words);
  [[noreturn]] void fail_server(const std::string& what, const std::string& help) const;

  const RedisAddress address_;
  const std::unique_ptr<redisContext, void (*)(redisContext*)> connection_;
};

}  // namespace belay_gloo
