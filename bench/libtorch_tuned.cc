// SPDX-License-Identifier: Apache-2.0
// Has the changes that an expert would make: gradients are not added to zeros, memory stays with the process, and
// matrix products are those of Belay's oneDNN instead of OpenBLAS's.
#include <dnnl.h>
#include <malloc.h>

#include "bench/libtorch_use.h"

namespace bench {

// libtorch asks for each tensor anew; as shipped, the kernel maps and clears the pages of every large one in each step.
void set_up_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
}

void clear_gradients(torch::optim::Optimizer& optimizer) {
  for (auto& group : optimizer.param_groups())
    for (torch::Tensor& p : group.params()) p.mutable_grad().reset();
}

}  // namespace bench

// libtorch's calls of BLAS find this one first. BLAS counts by columns and oneDNN by rows. So a matrix of BLAS is its
// transpose here, and the two operands change places.
extern "C" __attribute__((visibility("default"))) void sgemm_(const char* transa, const char* transb, const int* m,
                                                              const int* n, const int* k, const float* alpha,
                                                              const float* a, const int* lda, const float* b,
                                                              const int* ldb, const float* beta, float* c,
                                                              const int* ldc) {
  dnnl_sgemm(*transb, *transa, *n, *m, *k, *alpha, b, *ldb, a, *lda, *beta, c, *ldc);
}
