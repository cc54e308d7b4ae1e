package opencl

import (
	"errors"
	"fmt"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// faulty is a device of its own whose driver's calls can be counted and made to fail.
type faulty struct {
	*Device
	calls int
	// fail is what a call of a function returns, so many times.
	fail  function
	code  int32
	times int
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	d := first(t)
	f := &faulty{}
	lib := *d.lib
	lib.before = func(fn function) int32 {
		f.calls++
		if fn != f.fail || f.times == 0 {
			return success
		}
		f.times--
		return f.code
	}
	id := *d.id
	var err error
	if f.Device, err = lib.open("opencl:0", &id); err != nil {
		t.Fatal(err)
	}
	return f
}

// neg copies numbers to the device, runs a kernel and copies the result back.
func (f *faulty) neg() error {
	mem, err := f.Alloc(64)
	if err != nil {
		return err
	}
	a := backend.Arg{DType: tensor.Float32, Shape: tensor.Shape{16}}
	o := &backend.Op{Node: &graph.Node{Op: "Neg", Version: 13}, In: []backend.Arg{a}, Out: []backend.Arg{a}}
	ks, err := f.Backend().Candidates(o)
	if err != nil || len(ks) != 1 {
		return fmt.Errorf("got %d kernels: %w", len(ks), err)
	}
	if err := f.Upload(mem, 0, numbers(1, 16).Bytes()); err != nil {
		return err
	}
	v := backend.View{DType: tensor.Float32, Shape: a.Shape, Mem: mem}
	if err := f.Run(ks[0].Kernel, &backend.Call{In: []backend.View{v}, Out: []backend.View{v}}); err != nil {
		return err
	}
	if err := f.Download(make([]byte, 64), mem, 0); err != nil {
		return err
	}
	return mem.Free()
}

func TestFailuresOfTheDriver(t *testing.T) {
	const always = 1 << 20
	for _, c := range []struct {
		fn    function
		code  int32
		times int
		// fails says that there is an error, and lost that the device is lost then.
		fails, lost bool
	}{
		{clEnqueueNDRangeKernel, deviceUnavailable, 1, true, true},
		{clEnqueueNDRangeKernel, invalidQueue, 1, true, true},
		{clEnqueueNDRangeKernel, outOfResources, 1, false, false},
		{clEnqueueNDRangeKernel, outOfResources, always, true, true},
		{clEnqueueNDRangeKernel, -4, 1, true, false},
		{clEnqueueWriteBuffer, outOfResources, 1, false, false},
		{clEnqueueWriteBuffer, outOfResources, 2, true, true},
		{clEnqueueReadBuffer, invalidContext, 1, true, true},
		{clCreateBuffer, -4, 1, true, false},
		{clCreateBuffer, outOfResources, 1, true, false},
		{clCreateBuffer, deviceUnavailable, 1, true, true},
		{clBuildProgram, -11, always, true, true},
		{clCreateKernel, -6, 1, true, false},
		{clSetKernelArg, deviceUnavailable, 1, true, true},
		{clFlush, deviceUnavailable, 1, true, true},
		{clReleaseMemObject, invalidContext, 1, true, true},
	} {
		t.Run(fmt.Sprint(functionNames[c.fn], codeName(c.code), c.times), func(t *testing.T) {
			f := newFaulty(t)
			f.fail, f.code, f.times = c.fn, c.code, c.times
			err := f.neg()
			if (err != nil) != c.fails || errors.Is(err, backend.ErrLost) != c.lost || f.Lost() != c.lost {
				t.Fatalf("got %v, lost %v, want an error %v, lost %v", err, f.Lost(), c.fails, c.lost)
			}
			f.times = 0
			if !c.lost {
				if err := f.neg(); err != nil {
					t.Errorf("then: got %v, want none", err)
				}
			}
		})
	}
}

func TestALostDeviceDoesNotTouchTheDriver(t *testing.T) {
	f := newFaulty(t)
	if err := f.neg(); err != nil {
		t.Fatal(err)
	}
	mem, err := f.Alloc(64)
	if err != nil {
		t.Fatal(err)
	}
	f.fail, f.code, f.times = clEnqueueWriteBuffer, deviceUnavailable, 1
	if err := f.Upload(mem, 0, make([]byte, 64)); !errors.Is(err, backend.ErrLost) {
		t.Fatalf("got %v, want a lost device", err)
	}
	f.calls = 0
	_, alloc := f.Alloc(1)
	_, share := f.Share(make([]byte, 64))
	_, rates := f.Measure(true)
	for i, err := range []error{alloc, share, rates, f.Upload(mem, 0, make([]byte, 64)), f.Download(make([]byte, 64), mem, 0),
		f.Run(func(*backend.Call) error { return nil }, &backend.Call{})} {
		if !errors.Is(err, backend.ErrLost) {
			t.Errorf("call %d: got %v, want a lost device", i, err)
		}
	}
	if err := mem.Free(); err != nil {
		t.Errorf("free: got %v, want nothing done", err)
	}
	if f.calls != 0 {
		t.Errorf("got %d calls of the driver, want none", f.calls)
	}
}
