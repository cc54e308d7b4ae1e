package stowage

import (
	"runtime"
	"testing"

	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

func TestThreadsAreBoundedByTheMachine(t *testing.T) {
	k := testkit.NewModel(17)
	k.Output(k.Node("Relu", []string{k.Input("x", tensor.Float32, 4)}), tensor.Float32, 4)
	m, err := LoadBytes(k.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	all := machineThreads()
	if all < 1 || all > runtime.GOMAXPROCS(0) {
		t.Fatalf("got %d threads with GOMAXPROCS %d", all, runtime.GOMAXPROCS(0))
	}
	for _, c := range []struct{ ask, want int }{{0, all}, {1, 1}, {all, all}, {all + 1, all}} {
		s, err := m.Open(&Options{Threads: c.ask})
		if err != nil {
			t.Fatal(err)
		}
		if s.Threads() != c.want {
			t.Errorf("Threads %d: got %d, want %d", c.ask, s.Threads(), c.want)
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
	if _, err := m.Open(&Options{Threads: -1}); err == nil {
		t.Error("Threads -1: got no error")
	}
}
