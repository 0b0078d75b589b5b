// SPDX-License-Identifier: Apache-2.0
#include "runtime/validate/fuzz_run.h"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <new>

#include "belay/error.h"

namespace belay::runtime {

// One thread of the child writes it. The parent reads it after the child has ended.
struct FuzzLog::Page {
  std::uint64_t number = 0;
  std::size_t size = 0;
  bool cut = false;
  char text[4000] = {};
};

FuzzLog::FuzzLog() : page_(nullptr) {
  void* memory = ::mmap(nullptr, sizeof(Page), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail(Code::kInternal, std::string("mmap: ") + std::strerror(errno));
  page_ = new (memory) Page;
}
FuzzLog::~FuzzLog() { ::munmap(page_, sizeof(Page)); }

void FuzzLog::begin_case(std::uint64_t number) {
  page_->size = 0;
  page_->cut = false;
  page_->number = number;
}

void FuzzLog::note(std::string_view what) {
  constexpr std::size_t kMost = 300;
  std::string text = (page_->size == 0 ? "" : "; ") + std::string(what.substr(0, kMost));
  if (page_->size + text.size() > sizeof(page_->text)) {
    const std::size_t kept = page_->size / 2;
    std::memmove(page_->text, page_->text + page_->size - kept, kept);
    page_->size = kept;
    page_->cut = true;
  }
  std::memcpy(page_->text + page_->size, text.data(), text.size());
  page_->size += text.size();
}

std::uint64_t FuzzLog::number() const { return page_->number; }

std::string FuzzLog::notes() const {
  constexpr std::size_t kMost = 700;
  const std::size_t shown = std::min(page_->size, kMost);
  const std::string end(page_->text + page_->size - shown, shown);
  return page_->cut || shown < page_->size ? "... " + end : end;
}

void run_fuzz_cases(const Subject& subject, FuzzLog& log, std::uint64_t first, double seconds) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  const std::uint64_t key = mix_key(subject.seed, stream_id(subject.info.name));
  std::uint64_t number = first;
  do {
    log.begin_case(number);
    FuzzCase fuzz(key, number, [&](const std::string& what) { log.note(what); });
    run_fuzz_case(subject, fuzz);
    ++number;
  } while (Clock::now() < until);
}

void limit_memory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  constexpr rlim_t kMore = rlim_t{4} << 30;
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit limit{};
  if (pages == 0 || ::getrlimit(RLIMIT_AS, &limit) != 0) return;
  limit.rlim_cur = std::min(limit.rlim_cur, pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE)) + kMore);
  ::setrlimit(RLIMIT_AS, &limit);
#endif
}

}  // namespace belay::runtime
