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
	// On an idle machine it is some 40 ms; a busy one, and the race detector, take their time.
	if took > time.Minute {
		t.Errorf("got %v, want far less than a minute", took)
	}
}
