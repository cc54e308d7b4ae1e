package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fanOut is a problem in which a node whose result two others read had better stay where it is
// slower.
const fanOut = `{"devices":["cpu","gpu0"],
 "nodes":[{"name":"p","cost":[5,1],"bytes":[0,0]}, {"name":"a","cost":[100,1],"bytes":[8,8]}, {"name":"b","cost":[10,null]}],
 "tensors":[{"from":"p","to":["a","b"],"bytes":1048576,"out":false}, {"from":"a","to":[],"bytes":4,"out":true},
            {"from":"b","to":[],"bytes":4,"out":true}],
 "latency_ns":[[0,10],[10,0]], "ns_per_byte":[[0,1],[1,0]], "exit":"cpu", "capacity":[null,1000000]}`

func TestPlacePrintsPlacementCostBoundAndEveryStrategy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fanout.json")
	if err := os.WriteFile(path, []byte(fanOut), 0o666); err != nil {
		t.Fatal(err)
	}
	golden(t, "place.txt", good(t, "place", path))
	out := good(t, "place", path, "--json")
	golden(t, "place.json", out)
	var r placeReport
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatal(err)
	}
	if r.Cost != 115 || r.Bound != 115 || !r.Proven || r.Strategy != "exact" || r.Placement["p"] != "cpu" {
		t.Errorf("got %+v, want 115 ns, proven, by exact, with p on cpu", r)
	}
	golden(t, "place_carry.txt", good(t, "place", path, "--strategy", "carry"))
	if got := cli(t, []byte(fanOut), "place", "-"); got.code != exitGood || got.out != good(t, "place", path) {
		t.Errorf("standard input: got status %d and\n%s%s\nwant what a file gives", got.code, got.out, got.err)
	}
}

func TestPlaceErrorsNameTheField(t *testing.T) {
	for _, c := range []struct {
		old, new string
		args     []string
		code     int
		want     string
	}{
		{`[5,1]`, `[5,-1]`, nil, exitUsage,
			`stowage: standard input: place: nodes[0].cost[1] ("p"): got -1, want at least 0`},
		{`"b"]`, `"c"]`, nil, exitUsage,
			`stowage: standard input: place: tensors[0].to[1] ("c"): got no node of that name`},
		{`{"devices"`, `{"device"`, nil, exitUsage,
			`stowage: standard input: place: got bad JSON: unknown field "device"`},
		{``, ``, []string{"--strategy", "best"}, exitUsage,
			`stowage: place: strategy: got "best", want one of auto, exact, carry, greedy, priority, single`},
		{`[null,1000000]`, `[4,4]`, nil, exitFailed,
			`stowage: standard input: place: capacity: no placement fits: device "cpu": got 4 B, want at least 8 B (4 B more)`},
	} {
		text := strings.Replace(fanOut, c.old, c.new, 1)
		got := cli(t, []byte(text), append([]string{"place", "-"}, c.args...)...)
		if got.code != c.code || strings.TrimSpace(got.err) != c.want || got.out != "" {
			t.Errorf("%s %v: got status %d, %q and %q, want status %d and %q", c.new, c.args, got.code, got.err, got.out,
				c.code, c.want)
		}
	}
}
