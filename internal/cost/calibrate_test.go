package cost

import (
	"testing"
	"time"
)

func TestMeasureIsQuickAndPlausible(t *testing.T) {
	start := time.Now()
	r := Measure(2)
	took := time.Since(start)
	t.Logf("%v: %+v", took, *r)
	if err := r.Check(); err != nil {
		t.Fatal(err)
	}
	if took > 2*time.Second {
		t.Errorf("got %v, want some 50 ms even on a busy machine", took)
	}
}
