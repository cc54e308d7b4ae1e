package stowage

import (
	"io/fs"
	"math"
	"os"
	"path"
	"strconv"
	"strings"
)

// cpuQuota returns how many processors' time the process's control groups let it use, rounded up;
// 0 when there is no limit.
func cpuQuota() int { return quotaIn(os.DirFS("/")) }

// quotaIn finds the quota in a file system that has /proc and /sys: the least of the group's own
// and those above it, in either version of control groups.
func quotaIn(root fs.FS) int {
	groups, err := fs.ReadFile(root, "proc/self/cgroup")
	if err != nil {
		return 0
	}
	least := math.Inf(1)
	for line := range strings.Lines(string(groups)) {
		part := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(part) != 3 {
			continue
		}
		switch {
		case part[0] == "0" && part[1] == "":
			least = min(least, walkUp(root, "sys/fs/cgroup", part[2], quota2))
			least = min(least, walkUp(root, "sys/fs/cgroup/unified", part[2], quota2))
		case strings.Contains(","+part[1]+",", ",cpu,"):
			least = min(least, walkUp(root, "sys/fs/cgroup/"+part[1], part[2], quota1))
			least = min(least, walkUp(root, "sys/fs/cgroup/cpu", part[2], quota1))
		}
	}
	if math.IsInf(least, 1) || least > math.MaxInt32 {
		return 0
	}
	return max(int(math.Ceil(least)), 1)
}

// walkUp returns the least quota of a group and of those above it, as far as the mount shows them.
func walkUp(root fs.FS, mount, group string, quota func(root fs.FS, dir string) float64) float64 {
	least := math.Inf(1)
	for at := path.Clean("/" + group); ; at = path.Dir(at) {
		least = min(least, quota(root, path.Join(mount, at)))
		if at == "/" {
			return least
		}
	}
}

// quota2 reads "QUOTA PERIOD" or "max PERIOD".
func quota2(root fs.FS, dir string) float64 {
	b, err := fs.ReadFile(root, dir+"/cpu.max")
	if err != nil {
		return math.Inf(1)
	}
	quota, period, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
	return ratio(quota, period)
}

// quota1 reads the quota, −1 for none, and the period from files of their own.
func quota1(root fs.FS, dir string) float64 {
	quota, err := fs.ReadFile(root, dir+"/cpu.cfs_quota_us")
	if err != nil {
		return math.Inf(1)
	}
	period, err := fs.ReadFile(root, dir+"/cpu.cfs_period_us")
	if err != nil {
		return math.Inf(1)
	}
	return ratio(strings.TrimSpace(string(quota)), strings.TrimSpace(string(period)))
}

// ratio returns quota/period, +Inf for anything but two positive numbers.
func ratio(quota, period string) float64 {
	q, qErr := strconv.ParseInt(quota, 10, 64)
	p, pErr := strconv.ParseInt(period, 10, 64)
	if qErr != nil || pErr != nil || q <= 0 || p <= 0 {
		return math.Inf(1)
	}
	return float64(q) / float64(p)
}
