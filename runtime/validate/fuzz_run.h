// SPDX-License-Identifier: Apache-2.0
// Runs cases one by one in a child process. The parent knows the child's case when it ended.
//
//   FuzzLog log;                                                // before the fork
//   run_in_child([&] { limit_memory(); run_fuzz_cases(subject, log, 0, 2.0); ... }, 32);
//   log.number(), log.notes();                                  // the case that ran last, and what it did
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "runtime/validate/fuzz.h"

namespace belay::runtime {

// The steps of a case so far, in memory that a child shares with its parent.
class FuzzLog {
 public:
  FuzzLog();
  FuzzLog(const FuzzLog&) = delete;
  FuzzLog& operator=(const FuzzLog&) = delete;
  ~FuzzLog();

  void begin_case(std::uint64_t number);
  void note(std::string_view what);
  std::uint64_t number() const;
  // Returns "begin; load_state; a step". If it is long, its start is left out.
  std::string notes() const;

 private:
  struct Page;
  Page* page_;
};

// Runs cases from `first` on until `seconds` are over, and at least one. Throws the errors of run_fuzz_case.
void run_fuzz_cases(const Subject& subject, FuzzLog& log, std::uint64_t first, double seconds);

// Allows this process 4 GiB more memory than it has. So a plugin that allocates without limit gets an error, and the
// machine keeps its memory. With a sanitizer it does nothing, since sanitizers map more.
void limit_memory();

}  // namespace belay::runtime
