// SPDX-License-Identifier: Apache-2.0
#include "runtime/platform/threads/thread_settings.h"

#include <omp.h>

#include "runtime/platform/threads/floating_point.h"

namespace belay::runtime {

ThreadSettings::ThreadSettings() noexcept
    : threads_(omp_get_max_threads()),
      dynamic_(omp_get_dynamic()),
      levels_(omp_get_max_active_levels()),
      x87_(x87_control()) {}

ThreadSettings::~ThreadSettings() {
  if (omp_get_max_threads() != threads_) omp_set_num_threads(threads_);
  if (omp_get_dynamic() != dynamic_) omp_set_dynamic(dynamic_);
  if (omp_get_max_active_levels() != levels_) omp_set_max_active_levels(levels_);
  if (x87_control() != x87_) set_x87_control(x87_);
}

}  // namespace belay::runtime
