package opencl

import (
	"fmt"
	"sync"
	"unsafe"
)

// function numbers the functions of the library that are used.
type function int

const (
	clGetPlatformIDs function = iota
	clGetPlatformInfo
	clGetDeviceIDs
	clGetDeviceInfo
	clCreateSubDevices
	clCreateContext
	clCreateCommandQueue
	clCreateBuffer
	clReleaseMemObject
	clCreateProgramWithSource
	clCreateProgramWithBinary
	clBuildProgram
	clGetProgramInfo
	clGetProgramBuildInfo
	clReleaseProgram
	clCreateKernel
	clSetKernelArg
	clReleaseKernel
	clEnqueueNDRangeKernel
	clEnqueueReadBuffer
	clEnqueueWriteBuffer
	clFinish
	clFlush
	clReleaseCommandQueue
	clReleaseContext
	functions
)

var functionNames = [functions]string{
	"clGetPlatformIDs", "clGetPlatformInfo", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateSubDevices",
	"clCreateContext", "clCreateCommandQueue", "clCreateBuffer", "clReleaseMemObject", "clCreateProgramWithSource",
	"clCreateProgramWithBinary", "clBuildProgram", "clGetProgramInfo", "clGetProgramBuildInfo", "clReleaseProgram",
	"clCreateKernel", "clSetKernelArg", "clReleaseKernel", "clEnqueueNDRangeKernel", "clEnqueueReadBuffer",
	"clEnqueueWriteBuffer", "clFinish", "clFlush", "clReleaseCommandQueue", "clReleaseContext",
}

// library is an OpenCL library, with the addresses of its functions.
type library struct {
	at [functions]uintptr
	// before, when set, is told of each call that returns a status or a handle; what it returns, unless it is
	// success, is returned in the driver's stead. Tests set it on a library of their own.
	before func(fn function) int32
}

// intercepted is what before says.
func (l *library) intercepted(fn function) error {
	if l.before == nil {
		return nil
	}
	if code := l.before(fn); code != success {
		return &failure{fn, code}
	}
	return nil
}

// openLibrary opens the library and finds its functions.
func openLibrary() (*library, error) {
	l := &library{}
	find, err := loadLibrary()
	if err != nil {
		return nil, fmt.Errorf("opencl: library: %w", err)
	}
	for i, name := range functionNames {
		if l.at[i], err = find(name); err != nil {
			return nil, fmt.Errorf("opencl: library: function %s: %w", name, err)
		}
	}
	return l, nil
}

// failure is what a function of the library returned.
type failure struct {
	fn   function
	code int32
}

func (f *failure) Error() string {
	return fmt.Sprintf("%s: got %s", functionNames[f.fn], codeName(f.code))
}

// status calls a function that returns a status.
//
//go:uintptrescapes
func (l *library) status(fn function, args ...uintptr) error {
	if err := l.intercepted(fn); err != nil {
		return err
	}
	if code := int32(call(l.at[fn], args...)); code != success {
		return &failure{fn, code}
	}
	return nil
}

// create calls a function that returns a handle and takes the address of a status last.
//
//go:uintptrescapes
func (l *library) create(fn function, args ...uintptr) (uintptr, error) {
	if err := l.intercepted(fn); err != nil {
		return 0, err
	}
	status := statuses.Get().(*int32)
	defer statuses.Put(status)
	*status = success
	h := call(l.at[fn], append(args, uintptr(unsafe.Pointer(status)))...)
	if *status != success {
		return 0, &failure{fn, *status}
	}
	if h == 0 {
		return 0, &failure{fn, invalidValue}
	}
	return h, nil
}

// statuses are places, not on a stack, that C code writes to.
var statuses = sync.Pool{New: func() any { return new(int32) }}

// query returns what a function of the kind clGet…Info says of a property.
func (l *library) query(fn function, of uintptr, property uint32) ([]byte, error) {
	var n uintptr
	if err := l.status(fn, of, uintptr(property), 0, 0, uintptr(unsafe.Pointer(&n))); err != nil || n == 0 {
		return nil, err
	}
	b := make([]byte, n)
	err := l.status(fn, of, uintptr(property), n, uintptr(unsafe.Pointer(&b[0])), 0)
	return b, err
}
