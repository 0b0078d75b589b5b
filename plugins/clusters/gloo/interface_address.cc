// SPDX-License-Identifier: Apache-2.0
#include "interface_address.h"

#include <arpa/inet.h>
#include <belay/error.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

#include <cstring>
#include <memory>
#include <sstream>

namespace belay_gloo {
namespace {

struct FreeAddresses {
  void operator()(ifaddrs* all) const noexcept { freeifaddrs(all); }
};

}  // namespace

Address address_of(const std::string& interface) {
  ifaddrs* raw = nullptr;
  if (getifaddrs(&raw) != 0)
    belay::fail(belay::Code::kUnavailable, std::string("the network interfaces cannot be listed: ") +
                                               std::strerror(errno));  // NOLINT(concurrency-mt-unsafe)
  const std::unique_ptr<ifaddrs, FreeAddresses> all(raw);
  Address found;
  std::string others;
  for (const ifaddrs* a = all.get(); a != nullptr; a = a->ifa_next) {
    const int family = a->ifa_addr == nullptr ? AF_UNSPEC : a->ifa_addr->sa_family;
    if (family != AF_INET && family != AF_INET6) continue;
    const std::string name = a->ifa_name;
    if ((", " + others + ", ").find(", " + name + ", ") == std::string::npos)
      others += (others.empty() ? "" : ", ") + name;
    if (name != interface || (found.size != 0 && (found.raw.ss_family == AF_INET || family == AF_INET6))) continue;
    found.size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    std::memcpy(&found.raw, a->ifa_addr, found.size);
  }
  if (found.size == 0)
    belay::fail(belay::Code::kInvalidArgument, "interface = \"" + interface + "\" is no network interface with an " +
                                                   "address; this machine has " + others);
  return found;
}

std::string to_text(const Address& address) {
  char host[NI_MAXHOST], port[NI_MAXSERV];
  if (getnameinfo(reinterpret_cast<const sockaddr*>(&address.raw), address.size, host, sizeof(host), port, sizeof(port),
                  NI_NUMERICHOST | NI_NUMERICSERV) != 0)
    return "";
  return std::string(host) + " " + port;
}

Address from_text(const std::string& text) {
  std::istringstream parts(text);
  std::string host, port;
  parts >> host >> port;
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  Address address;
  if (host.empty() || port.empty() || getaddrinfo(host.c_str(), port.c_str(), &hints, &list) != 0) return address;
  address.size = list->ai_addrlen;
  std::memcpy(&address.raw, list->ai_addr, address.size);
  freeaddrinfo(list);
  return address;
}

}  // namespace belay_gloo
