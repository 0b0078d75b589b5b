#include "runtime/ops/parallel.h"

#include <sched.h>

namespace belay::runtime {

int available_threads() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

}  // namespace belay::runtime
