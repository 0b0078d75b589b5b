// SPDX-License-Identifier: Apache-2.0
// Runs cases one after the other in a child process, and knows in the parent where it was when the child ended.
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

// What a case did so far, in memory that a child shares with its parent.
class FuzzLog {
 public:
  FuzzLog();
  FuzzLog(const FuzzLog&) = delete;
  FuzzLog& operator=(const FuzzLog&) = delete;
  ~FuzzLog();

  void begin_case(std::uint64_t number);
  void note(std::string_view what);
  std::uint64_t number() const;
  // "begin; load_state; a step"; where it is long, its start is left out.
  std::string notes() const;

 private:
  struct Page;
  Page* page_;
};

// Cases from `first` on, until `seconds` are over; one at least. Throws what run_fuzz_case throws.
void run_fuzz_cases(const Subject& subject, FuzzLog& log, std::uint64_t first, double seconds);

// This process may take 4 GiB more than it has, so that a plugin that asks for all there is gets an error and not the
// machine's memory. Nothing with a sanitizer, which has more than that mapped.
void limit_memory();

}  // namespace belay::runtime
