package opencl

import "fmt"

// The statuses that the code tells apart.
const (
	success           = 0
	deviceNotFound    = -1
	deviceUnavailable = -2
	outOfResources    = -5
	invalidValue      = -30
	invalidDevice     = -33
	invalidContext    = -34
	invalidQueue      = -36
	platformNotFound  = -1001
)

// codeNames are the statuses of the OpenCL 1.2 specification, and the loader's own.
var codeNames = map[int32]string{
	-1: "CL_DEVICE_NOT_FOUND", -2: "CL_DEVICE_NOT_AVAILABLE", -3: "CL_COMPILER_NOT_AVAILABLE",
	-4: "CL_MEM_OBJECT_ALLOCATION_FAILURE", -5: "CL_OUT_OF_RESOURCES", -6: "CL_OUT_OF_HOST_MEMORY",
	-7: "CL_PROFILING_INFO_NOT_AVAILABLE", -8: "CL_MEM_COPY_OVERLAP", -9: "CL_IMAGE_FORMAT_MISMATCH",
	-10: "CL_IMAGE_FORMAT_NOT_SUPPORTED", -11: "CL_BUILD_PROGRAM_FAILURE", -12: "CL_MAP_FAILURE",
	-13: "CL_MISALIGNED_SUB_BUFFER_OFFSET", -14: "CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST",
	-15: "CL_COMPILE_PROGRAM_FAILURE", -16: "CL_LINKER_NOT_AVAILABLE", -17: "CL_LINK_PROGRAM_FAILURE",
	-18: "CL_DEVICE_PARTITION_FAILED", -19: "CL_KERNEL_ARG_INFO_NOT_AVAILABLE", -30: "CL_INVALID_VALUE",
	-31: "CL_INVALID_DEVICE_TYPE", -32: "CL_INVALID_PLATFORM", -33: "CL_INVALID_DEVICE", -34: "CL_INVALID_CONTEXT",
	-35: "CL_INVALID_QUEUE_PROPERTIES", -36: "CL_INVALID_COMMAND_QUEUE", -37: "CL_INVALID_HOST_PTR",
	-38: "CL_INVALID_MEM_OBJECT", -42: "CL_INVALID_BINARY", -43: "CL_INVALID_BUILD_OPTIONS", -44: "CL_INVALID_PROGRAM",
	-45: "CL_INVALID_PROGRAM_EXECUTABLE", -46: "CL_INVALID_KERNEL_NAME", -47: "CL_INVALID_KERNEL_DEFINITION",
	-48: "CL_INVALID_KERNEL", -49: "CL_INVALID_ARG_INDEX", -50: "CL_INVALID_ARG_VALUE", -51: "CL_INVALID_ARG_SIZE",
	-52: "CL_INVALID_KERNEL_ARGS", -53: "CL_INVALID_WORK_DIMENSION", -54: "CL_INVALID_WORK_GROUP_SIZE",
	-55: "CL_INVALID_WORK_ITEM_SIZE", -56: "CL_INVALID_GLOBAL_OFFSET", -57: "CL_INVALID_EVENT_WAIT_LIST",
	-58: "CL_INVALID_EVENT", -59: "CL_INVALID_OPERATION", -61: "CL_INVALID_BUFFER_SIZE",
	-63: "CL_INVALID_GLOBAL_WORK_SIZE", -64: "CL_INVALID_PROPERTY", -66: "CL_INVALID_COMPILER_OPTIONS",
	-67: "CL_INVALID_LINKER_OPTIONS", -68: "CL_INVALID_DEVICE_PARTITION_COUNT", -1001: "CL_PLATFORM_NOT_FOUND_KHR",
}

// codeName names a status.
func codeName(code int32) string {
	if n := codeNames[code]; n != "" {
		return n
	}
	return fmt.Sprintf("status %d", code)
}

// The numbers of properties and flags, from the specification's header.
const (
	platformVersion = 0x0901
	platformName    = 0x0902

	typeAll = 0xFFFFFFFF
	typeCPU = 1 << 1
	typeGPU = 1 << 2

	deviceType         = 0x1000
	deviceUnits        = 0x1002
	deviceMaxGroup     = 0x1004
	deviceMaxAlloc     = 0x1010
	deviceMemory       = 0x101F
	deviceIsAvailable  = 0x1027
	deviceHasCompiler  = 0x1028
	deviceName         = 0x102B
	deviceDriver       = 0x102D
	deviceVersion      = 0x102F
	deviceUnified      = 0x1035
	partitionEqually   = 0x1086
	memReadWrite       = 1
	memReadOnly        = 4
	memUseHost         = 8
	programBinarySizes = 0x1165
	programBinaries    = 0x1166
	programBuildLog    = 0x1183
)
