// SPDX-License-Identifier: Apache-2.0
// A connection to a Redis server, by hiredis.
#pragma once

#include <memory>
#include <string>
#include <vector>

struct redisContext;
struct redisReply;

namespace belay_gloo {

// An address redis://HOST or redis://HOST:PORT, with or without a final /JOB. HOST may be [an IPv6 address].
struct RedisAddress {
  std::string host;
  int port = 6379;
  std::string job;  // the keys begin with it; empty: not given
  std::string url;  // as written
};
// Parses an address. INVALID_ARGUMENT names the right form.
RedisAddress redis_address(const std::string& url);

// A connection; use it from one thread. A command that fails is FAILED_PRECONDITION, with the address and the fix.
class Redis {
 public:
  // Uses the password in the environment's REDISCLI_AUTH if the server wants one, like redis-cli.
  explicit Redis(const RedisAddress& address);
  ~Redis();
  Redis(const Redis&) = delete;
  Redis& operator=(const Redis&) = delete;

  // Returns the value; empty: there is no such key.
  std::string get(const std::string& key);
  // Sets a key that expires after this time.
  void set(const std::string& key, const std::string& value, long long milliseconds);
  // Sets a key that does not exist yet. False: it exists and stays as it is.
  bool set_new(const std::string& key, const std::string& value, long long milliseconds);
  // Sets the time after which the key expires. False: there is no such key.
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
