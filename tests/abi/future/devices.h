// SPDX-License-Identifier: Apache-2.0
/* Tensors that lie elsewhere. belay_tensor names its device today, and both sides refuse one that they do not know; so a
 * host hands out such a tensor only to an operation that asked for it. */
#ifndef BELAY_ABI_FUTURE_DEVICES_H_
#define BELAY_ABI_FUTURE_DEVICES_H_

#include <belay/abi.h>

#define BELAY_DEVICE_OPENCL 1 /* `data` is a cl_mem */

/* A flag of belay_op_traits: the kernel takes and fills tensors of a device. */
#define BELAY_OP_ON_DEVICE 32

/* Appended to the arguments of make_kernel. */
typedef struct belay_op_kernel_args_with_device {
  belay_op_kernel_args before;
  int32_t device;
  int32_t device_index;
  void* queue; /* the device's; the device defines its type */
} belay_op_kernel_args_with_device;

/* Appended to "op". */
typedef struct belay_op_service_with_devices {
  belay_op_service before;
  int32_t (*device_scratch)(belay_op_context* context, int32_t device, uint64_t bytes, void** memory,
                            belay_status* status);
} belay_op_service_with_devices;

#endif /* BELAY_ABI_FUTURE_DEVICES_H_ */
