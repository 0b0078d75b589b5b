// SPDX-License-Identifier: Apache-2.0
// A hook in Go: go build -buildmode=c-shared. Its tables and its note stand in module.c, since Go has neither constant
// C structs nor sections; what the host calls arrives here.
package main

// #include "callbacks.h"
import "C"

import (
	"fmt"
	"runtime/cgo"
	"unsafe"
)

type hook struct {
	steps []float64
}

// Go's memory may not be kept in C: the host keeps a handle.
//
//export goCreate
func goCreate(api *C.belay_host_api, host *C.belay_host, options *C.belay_named_value, n C.uint64_t, out *C.uintptr_t,
	status *C.belay_status) (code C.int32_t) {
	defer recovered(status, &code)
	max := 10.0
	for _, option := range unsafe.Slice(options, int(n)) {
		if text(option.name) == "max" && option.value._type == C.BELAY_VALUE_FLOAT {
			max = *(*float64)(option.value.data)
		}
	}
	if max < 0 {
		return report(status, C.BELAY_INVALID_ARGUMENT, fmt.Sprintf("'max' is %v, must be >= 0", max))
	}
	line := fmt.Sprintf("max %f", max)
	C.log_line(api, host, C._GoStringPtr(line), C.uint64_t(len(line)))
	*out = C.uintptr_t(cgo.NewHandle(&hook{steps: []float64{max}}))
	return C.BELAY_OK
}

//export goDestroy
func goDestroy(self C.uintptr_t) { cgo.Handle(self).Delete() }

//export goEnd
func goEnd(self C.uintptr_t, status *C.belay_status) (code C.int32_t) {
	defer recovered(status, &code)
	h := cgo.Handle(self).Value().(*hook)
	if len(h.steps) == 1 {
		panic("thrown on purpose")
	}
	return C.BELAY_OK
}

// No panic may cross the boundary.
func recovered(status *C.belay_status, code *C.int32_t) {
	if reason := recover(); reason != nil {
		*code = report(status, C.BELAY_UNKNOWN, fmt.Sprint(reason))
	}
}

func report(status *C.belay_status, code C.int32_t, message string) C.int32_t {
	status.size = C.uint64_t(copy(unsafe.Slice((*byte)(unsafe.Pointer(status.text)), int(status.capacity)), message))
	return code
}

func text(s C.belay_str) string {
	return string(unsafe.Slice((*byte)(unsafe.Pointer(s.data)), int(s.size)))
}

func main() {}
