// SPDX-License-Identifier: Apache-2.0
// The address of a network interface.
#pragma once

#include <sys/socket.h>

#include <string>

namespace belay_gloo {

// A place to listen at, or to connect to.
struct Address {
  sockaddr_storage raw{};
  socklen_t size = 0;
};

// Its first IPv4 address, or if there is none its first of IPv6, with port 0. INVALID_ARGUMENT: there is no such
// interface, or it has no address; the message lists those that have one.
Address address_of(const std::string& interface);

// "127.0.0.1 4711" and back. from_text returns size 0 where the text is no address.
std::string to_text(const Address& address);
Address from_text(const std::string& text);

}  // namespace belay_gloo
