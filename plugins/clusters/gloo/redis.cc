// SPDX-License-Identifier: Apache-2.0
#include "redis.h"

#include <belay/error.h>
#include <hiredis.h>
#include <sys/time.h>

#include <charconv>
#include <cstdlib>
#include <utility>

namespace belay_gloo {
namespace {

using belay::Code;

constexpr timeval kPatience{5, 0};  // for the connection and for each reply
constexpr int kHighestPort = 65535;

[[noreturn]] void fail_url(const std::string& url, const std::string& what) {
  belay::fail(Code::kInvalidArgument, "rendezvous = \"" + url + "\" " + what +
                                          "; it is written redis://HOST, redis://HOST:PORT or redis://HOST:PORT/JOB");
}

std::string text_of(const redisReply& reply) {
  return reply.str == nullptr ? std::string() : std::string(reply.str, static_cast<std::size_t>(reply.len));
}

}  // namespace

RedisAddress redis_address(const std::string& url) {
  constexpr std::string_view kScheme = "redis://";
  if (!url.starts_with(kScheme)) fail_url(url, "does not begin with redis://");
  RedisAddress address;
  address.url = url;
  const std::string rest = url.substr(kScheme.size());
  const std::size_t slash = rest.find('/');
  std::string place = rest.substr(0, slash);
  if (slash != rest.npos) address.job = rest.substr(slash + 1);
  if (place.find('@') != place.npos)
    fail_url(url, "has a password, which checkpoints and logs would show: put it into the environment's REDISCLI_AUTH");
  const std::size_t bracket = place.rfind(']'), colon = place.rfind(':');
  if (colon != place.npos && (bracket == place.npos || colon > bracket)) {
    const std::string port = place.substr(colon + 1);
    const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), address.port);
    if (error != std::errc() || end != port.data() + port.size() || address.port < 1 || address.port > kHighestPort)
      fail_url(url, "has the port '" + port + "', which is no number from 1 to 65535");
    place.resize(colon);
  }
  if (place.size() > 1 && place.front() == '[' && place.back() == ']') place = place.substr(1, place.size() - 2);
  if (place.empty()) fail_url(url, "names no host");
  address.host = std::move(place);
  return address;
}

void Redis::fail_server(const std::string& what, const std::string& help) const {
  belay::fail(Code::kFailedPrecondition, "the Redis server at " + address_.host + ":" + std::to_string(address_.port) +
                                             ", the meeting place of the ranks, " + what + "; " + help);
}

Redis::Redis(const RedisAddress& address)
    : address_(address),
      connection_(redisConnectWithTimeout(address.host.c_str(), address.port, kPatience), redisFree) {
  const std::string help = "start one there (redis-server --port " + std::to_string(address.port) +
                           "), or change rendezvous = \"" + address.url + "\" of [cluster]";
  if (connection_ == nullptr) fail_server("cannot be connected to: there is no memory", help);
  if (connection_->err != 0) fail_server(std::string("cannot be reached: ") + connection_->errstr, help);
  redisSetTimeout(connection_.get(), kPatience);
  const char* password = std::getenv("REDISCLI_AUTH");  // NOLINT(concurrency-mt-unsafe)
  if (password != nullptr && *password != '\0') call({"AUTH", password});
}

Redis::~Redis() = default;

Redis::Reply Redis::call(const std::vector<std::string>& words) {
  std::vector<const char*> parts;
  std::vector<std::size_t> sizes;
  for (const std::string& word : words) {
    parts.push_back(word.data());
    sizes.push_back(word.size());
  }
  Reply reply(static_cast<redisReply*>(
                  redisCommandArgv(connection_.get(), static_cast<int>(words.size()), parts.data(), sizes.data())),
              [](redisReply* r) { freeReplyObject(r); });
  if (reply == nullptr)
    fail_server(std::string("does not answer ") + words[0] + ": " + connection_->errstr,
                "it is needed until all ranks have met");
  if (reply->type == REDIS_REPLY_ERROR) {
    const std::string said = text_of(*reply);
    const bool password = said.starts_with("NOAUTH") || said.starts_with("WRONGPASS") || words[0] == "AUTH";
    fail_server("refuses " + words[0] + ": " + said,
                password ? "put its password into the environment's REDISCLI_AUTH, on all ranks"
                         : "look at the server's log and settings");
  }
  return reply;
}

std::string Redis::get(const std::string& key) { return text_of(*call({"GET", key})); }

void Redis::set(const std::string& key, const std::string& value, long long milliseconds) {
  call({"SET", key, value, "PX", std::to_string(milliseconds)});
}

bool Redis::set_new(const std::string& key, const std::string& value, long long milliseconds) {
  return call({"SET", key, value, "NX", "PX", std::to_string(milliseconds)})->type != REDIS_REPLY_NIL;
}

bool Redis::keep(const std::string& key, long long milliseconds) {
  return call({"PEXPIRE", key, std::to_string(milliseconds)})->integer != 0;
}

void Redis::remove(const std::string& key) { call({"DEL", key}); }

}  // namespace belay_gloo
