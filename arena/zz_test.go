package arena

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func cpu() float64 {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return float64(u.Utime.Sec) + float64(u.Utime.Usec)/1e6
}

func TestZZ(t *testing.T) {
	only := os.Getenv("ONLY")
	sec, _ := strconv.ParseFloat(os.Getenv("SEC"), 64)
	if sec == 0 {
		sec = 600
	}
	capy, _ := strconv.ParseInt(os.Getenv("CAP"), 10, 64)
	strat := os.Getenv("STRAT")
	for _, name := range dataFiles(t) {
		base := filepath.Base(name)
		if only != "" && !strings.HasPrefix(base, only) && !(only == "MM" && strings.Contains(base, "1048576")) {
			continue
		}
		p := readFile(t, name)
		p.Capacity = capy
		ctx, c := context.WithTimeout(context.Background(), time.Duration(sec*1e9))
		c0 := cpu()
		t0 := time.Now()
		plan, err := Solve(ctx, p, Options{Strategy: strat})
		c()
		d := cpu() - c0
		if plan == nil {
			t.Fatal(err)
		}
		if e := Validate(p, plan); e != nil {
			t.Fatal(e)
		}
		fmt.Printf("%-30.30s %.5f proven %v stopped %v nodes %d cpu %.4f wall %.4f %s %v\n", base, float64(plan.Arena)/float64(plan.LowerBound), plan.Proven, plan.Stopped, plan.Nodes, d, time.Since(t0).Seconds(), plan.Pools[0].Rule, err)
	}
}
