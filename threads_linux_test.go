package stowage

import (
	"testing"
	"testing/fstest"
)

func TestQuotaIsTheLeastOnTheWayUp(t *testing.T) {
	const v1, v2 = "5:cpu,cpuacct:/a/b\n4:memory:/a\n", "0::/a/b\n"
	for name, c := range map[string]struct {
		groups string
		files  map[string]string
		want   int
	}{
		"no control groups": {"", nil, 0},
		"no limit":          {v2, map[string]string{"a/b/cpu.max": "max 100000"}, 0},
		"own":               {v2, map[string]string{"a/b/cpu.max": "200000 100000\n"}, 2},
		"rounded up":        {v2, map[string]string{"a/b/cpu.max": "150000 100000\n"}, 2},
		"less than one":     {v2, map[string]string{"a/b/cpu.max": "1000 100000\n"}, 1},
		"the parent's": {v2, map[string]string{"a/b/cpu.max": "400000 100000\n", "a/cpu.max": "300000 100000",
			"cpu.max": "max 100000"}, 3},
		"a namespace's root": {"0::/\n", map[string]string{"cpu.max": "300000 100000"}, 3},
		"a hidden parent":    {"0::/../x\n", map[string]string{"cpu.max": "300000 100000"}, 3},
		"hybrid":             {v1 + v2, map[string]string{"unified/a/cpu.max": "100000 50000"}, 2},
		"version 1": {v1, map[string]string{"cpu,cpuacct/a/b/cpu.cfs_quota_us": "700000\n",
			"cpu,cpuacct/a/b/cpu.cfs_period_us": "100000\n"}, 7},
		"version 1 by its short name": {v1, map[string]string{"cpu/a/cpu.cfs_quota_us": "50000",
			"cpu/a/cpu.cfs_period_us": "25000"}, 2},
		"version 1 without limit": {v1, map[string]string{"cpu/a/b/cpu.cfs_quota_us": "-1",
			"cpu/a/b/cpu.cfs_period_us": "100000"}, 0},
		"nonsense": {v2 + "x\n::\n", map[string]string{"a/b/cpu.max": "many 0", "a/cpu.max": "", "cpu.max": "5 0"}, 0},
		"huge":     {v2, map[string]string{"a/b/cpu.max": "9223372036854775807 1"}, 0},
	} {
		root := fstest.MapFS{}
		if c.groups != "" {
			root["proc/self/cgroup"] = &fstest.MapFile{Data: []byte(c.groups)}
		}
		for file, data := range c.files {
			root["sys/fs/cgroup/"+file] = &fstest.MapFile{Data: []byte(data)}
		}
		if got := quotaIn(root); got != c.want {
			t.Errorf("%s: got %d, want %d", name, got, c.want)
		}
	}
}
