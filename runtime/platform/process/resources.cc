// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/process/resources.h"

#include <sys/resource.h>

#include <new>
#include <string_view>
#include <system_error>

namespace belay::runtime {
namespace {

// Returns the limit divided by `unit`, for example "3"; empty: there is no limit.
template <class Resource>
std::string limit_of(Resource resource, rlim_t unit) {
  rlimit limit{};
  if (::getrlimit(resource, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return "";
  return std::to_string(limit.rlim_cur / unit);
}

// The SDK makes this of std::bad_alloc.
constexpr std::string_view kBadAlloc = "out of memory";

std::string memory_limit_text() {
  const std::string kib = limit_of(RLIMIT_AS, 1024);
  if (kib.empty())
    return "the machine or its memory limit (cgroup) has no more; give it more, or make the batch smaller";
  return "this process may use " + kib + " KiB of address space (ulimit -v); raise that limit";
}

}  // namespace

void fail_no_memory(const std::string& what) {
  fail(Code::kResourceExhausted, "out of memory: " + what + "; " + memory_limit_text());
}

std::string memory_limit_of_process() { return limit_of(RLIMIT_AS, 1024).empty() ? "" : memory_limit_text(); }

std::string thread_limit_text() {
  const std::string count = limit_of(RLIMIT_NPROC, 1);
  const std::string who = count.empty() ? "the machine or its container allows no more of them"
                                        : "this user may run " + count + " processes and threads (ulimit -u)";
  const std::string kib = limit_of(RLIMIT_AS, 1024);
  return who + (kib.empty() ? "" : ", this process may use " + kib + " KiB of address space (ulimit -v)") +
         "; raise the limit, end other programs of this user, or set run.threads lower";
}

std::string resource_shortage(const std::exception& error) {
  const auto* known = dynamic_cast<const Error*>(&error);
  const bool is_bad_alloc = known != nullptr
                                ? known->code() == Code::kResourceExhausted && known->message() == kBadAlloc
                                : dynamic_cast<const std::bad_alloc*>(&error) != nullptr;
  if (is_bad_alloc) return "out of memory: " + memory_limit_text();
  const auto* failed = dynamic_cast<const std::system_error*>(&error);
  if (failed == nullptr) return "";
  if (failed->code() == std::errc::resource_unavailable_try_again)
    return "a thread cannot be started: " + thread_limit_text();
  return failed->code() == std::errc::not_enough_memory ? "out of memory: " + memory_limit_text() : "";
}

}  // namespace belay::runtime
