// SPDX-License-Identifier: Apache-2.0
// The readers-writer gate of a variable store: shared while a run reads, exclusive for its commit. Writers go first, so
// a commit does not starve among readers. It is not recursive.
#pragma once

#include <pthread.h>

#include <mutex>
#include <shared_mutex>

namespace belay::runtime {

class Gate {
 public:
  Gate() {
    pthread_rwlockattr_t attributes;
    pthread_rwlockattr_init(&attributes);
    pthread_rwlockattr_setkind_np(&attributes, PTHREAD_RWLOCK_PREFER_WRITER_NONRECURSIVE_NP);
    pthread_rwlock_init(&lock_, &attributes);
    pthread_rwlockattr_destroy(&attributes);
  }
  ~Gate() { pthread_rwlock_destroy(&lock_); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // The names are the standard's, for std::shared_lock and std::unique_lock.
  void lock_shared() { pthread_rwlock_rdlock(&lock_); }
  void unlock_shared() { pthread_rwlock_unlock(&lock_); }
  void lock() { pthread_rwlock_wrlock(&lock_); }
  void unlock() { pthread_rwlock_unlock(&lock_); }

 private:
  pthread_rwlock_t lock_;
};

}  // namespace belay::runtime
