// SPDX-License-Identifier: Apache-2.0
// Decodes the rows of a batch with several threads.
//
//   class Images final : public belay::Input {
//     ...
//     bool next(belay::Batch& batch, belay::Position& position) override {
//       const std::vector<std::int64_t>& examples = order_.batch();
//       if (examples.empty()) return false;
//       const auto n = static_cast<std::int64_t>(examples.size());
//       float* out = batch.tensor(x_, {n, width_}).data<float>();
//       pool_.for_each_row(n, [&](std::int64_t row) { decode(examples[row], out + row * width_); });
//       position = order_.advance();
//       return true;
//     }
//     belay::DecodePool pool_;                               // made with DecodeOptions::decode_threads
//   };
//
// One thread decodes each row, once. Thread t of k takes the rows [rows * t / k, rows * (t + 1) / k) in order. If a row
// depends only on its number, the batch is bit-identical for every k. So derive noise from the example's number
// (philox.h); do not draw it from a shared generator.
//
// Threads start at the first call that has work for them. The destructor joins them, so make the pool a member of the
// input, not one per batch. Handing a batch to threads costs about 10 to 100 us. If decoding is cheap, one thread is
// fastest.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <mutex>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <vector>

#include "belay/error.h"
#include "belay/options.h"

namespace belay {
inline namespace v0 {

// The option of an input that decodes with several threads. Its Options derive from it, and its `about` names the
// option with decode_option.
struct DecodeOptions {
  std::int64_t decode_threads = 1;
};

// The declaration of decode_threads, for the `about` of an input whose Options O derive from DecodeOptions. Set `help`
// if the threads do other work, such as parsing.
template <class O>
constexpr auto decode_option(std::string_view help = "number of threads that decode; the batches do not depend on it") {
  constexpr std::int64_t O::*decode_threads = &O::decode_threads;
  return option("decode_threads", decode_threads, help).range(1, 64).watching();
}

// A pool of threads. It cannot be copied or moved. It takes one caller at a time; an input's calls never overlap.
class DecodePool {
 public:
  // `threads` includes the caller's thread; below 1 means 1. It starts no thread yet.
  explicit DecodePool(std::int64_t threads) : errors_(static_cast<std::size_t>(threads < 1 ? 1 : threads)) {}
  DecodePool(const DecodePool&) = delete;
  DecodePool& operator=(const DecodePool&) = delete;
  ~DecodePool() { stop(); }

  // Calls decode(row) for 0 <= row < rows, and returns when every row is done or skipped. The calling thread is one of
  // the k. With one thread, or fewer than two rows, it is the only one. decode runs on several threads at once and must
  // write only to its row.
  //
  // If decode throws, its thread skips its remaining rows. The exception of the lowest row that threw is thrown at the
  // caller, the same for every k. RESOURCE_EXHAUSTED: threads cannot be started. It allocates nothing after the first
  // call.
  template <class Decode>
  void for_each_row(std::int64_t rows, Decode&& decode) {
    using Function = std::remove_reference_t<Decode>;
    if (errors_.size() == 1 || rows < 2) {
      for (std::int64_t row = 0; row < rows; ++row) decode(row);
      return;
    }
    start();
    {
      const std::lock_guard lock(mutex_);
      job_ = {[](void* f, std::int64_t row) { (*static_cast<Function*>(f))(row); },
              const_cast<void*>(static_cast<const void*>(&decode)), rows};
      ++job_number_;
      busy_ = threads_.size();
    }
    work_.notify_all();
    run_part(0);
    std::unique_lock lock(mutex_);
    done_.wait(lock, [&] { return busy_ == 0; });
    for (const std::exception_ptr& error : errors_)
      if (error) std::rethrow_exception(error);
  }

  // Number of started threads, without the caller's: 0 before the first call that needed them.
  std::size_t running_threads() const noexcept { return threads_.size(); }

 private:
  // The rows of one call. decode calls `function`, which is the caller's and outlives the call.
  struct Job {
    void (*decode)(void*, std::int64_t) = nullptr;
    void* function = nullptr;
    std::int64_t rows = 0;
  };

  // Decodes the rows of one thread. With fewer rows than threads a part may be empty.
  void run_part(std::size_t part) noexcept {
    const auto k = static_cast<std::int64_t>(errors_.size()), t = static_cast<std::int64_t>(part);
    errors_[part] = nullptr;
    try {
      for (std::int64_t row = job_.rows * t / k; row < job_.rows * (t + 1) / k; ++row) job_.decode(job_.function, row);
    } catch (...) {
      errors_[part] = std::current_exception();
    }
  }

  // The body of a thread: waits for the next job, runs its part, reports it.
  void serve(std::size_t part) {
    std::uint64_t served = 0;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        work_.wait(lock, [&] { return stopping_ || job_number_ != served; });
        if (stopping_) return;
        served = job_number_;
      }
      run_part(part);
      const std::lock_guard lock(mutex_);
      if (--busy_ == 0) done_.notify_one();
    }
  }

  // Starts all threads or none: if one fails, the started ones are joined again.
  void start() {
    if (!threads_.empty()) return;
    threads_.reserve(errors_.size() - 1);
    try {
      for (std::size_t part = 1; part < errors_.size(); ++part) threads_.emplace_back([this, part] { serve(part); });
    } catch (const std::system_error& e) {
      stop();
      fail(Code::kResourceExhausted, "cannot start " + std::to_string(errors_.size() - 1) +
                                         " decode threads: " + e.what() + "; lower 'decode_threads'");
    }
  }

  // Joins all threads. No job is in progress then, because for_each_row has returned.
  void stop() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    work_.notify_all();
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
    stopping_ = false;
  }

  std::vector<std::exception_ptr> errors_;  // one per part of the job
  std::vector<std::thread> threads_;        // parts 1 ..; part 0 is the caller's
  // Guards job_, job_number_, busy_ and stopping_. A part's error belongs to its thread until busy_ is 0.
  std::mutex mutex_;
  std::condition_variable work_, done_;
  Job job_;  // written before its number changes
  std::uint64_t job_number_ = 0;
  // Threads that have not finished the job; the caller waits until it is 0.
  std::size_t busy_ = 0;
  bool stopping_ = false;
};

}  // namespace v0
}  // namespace belay
