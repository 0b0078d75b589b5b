// SPDX-License-Identifier: Apache-2.0
/* Which values a hook sees are of all ranks together, and which are its own rank's: the combined ones are the model's
 * loss and metrics, which the host reduces. */
#ifndef BELAY_ABI_FUTURE_CLUSTER_H_
#define BELAY_ABI_FUTURE_CLUSTER_H_

#include <belay/abi.h>

/* A flag of belay_run_values: the results are this rank's alone. The host sets it only for modules that know it. */
#define BELAY_RUN_VALUES_LOCAL 1

#endif /* BELAY_ABI_FUTURE_CLUSTER_H_ */
