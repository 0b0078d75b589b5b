// SPDX-License-Identifier: Apache-2.0
// The address of a network interface.
#pragma once

#include <sys/socket.h>

#include <string>

namespace belay_gloo {

// An address to listen at, or to connect to.
struct Address {
  sockaddr_storage raw{};
  socklen_t size = 0;
};

// Returns the interface's first IPv4 address with port 0. Without one it is the first IPv6 address. INVALID_ARGUMENT:
// the interface does not exist, or has no address. The message lists the interfaces that have one.
Address address_of(const std::string& interface);

// Converts to "127.0.0.1 4711" and back. from_text returns size 0 if the text is no address.
std::string to_text(const Address& address);
Address from_text(const std::string& text);

}  // namespace belay_gloo
