package cost

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// cacheIn makes a folder the user's cache folder, on every system.
func cacheIn(t *testing.T, dir string) {
	t.Helper()
	t.Setenv("XDG_CACHE_HOME", dir)
	t.Setenv("HOME", dir)
	t.Setenv("LocalAppData", dir)
}

func TestRatesAreKept(t *testing.T) {
	cacheIn(t, t.TempDir())
	if r := Cached(2); r != nil {
		t.Fatalf("got %+v from an empty folder, want nothing", r)
	}
	if err := Keep(flat()); err != nil {
		t.Fatal(err)
	}
	r := Cached(2)
	if r == nil || r.Peak != flat().Peak {
		t.Fatalf("got %+v, want %+v", r, flat())
	}
	if r := Cached(3); r != nil {
		t.Errorf("another number of threads: got %+v, want nothing", r)
	}
	path, err := ratesPath(2)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"", "{", "{}", `{"machine":"x","rates":{}}`, strings.Repeat("[", 1<<20)} {
		if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
		if r := Cached(2); r != nil {
			t.Errorf("%.20q: got %+v, want nothing", text, r)
		}
	}
	if err := Keep(flat()); err != nil || Cached(2) == nil {
		t.Errorf("over a broken file: got %v and %+v, want the rates", err, Cached(2))
	}
	if left, err := filepath.Glob(path + ".*"); err != nil || len(left) > 0 {
		t.Errorf("got %v left over, want nothing", left)
	}
}

func TestUnusableCacheFolderIsNoError(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{file, filepath.Join(file, "below"), ""} {
		cacheIn(t, dir)
		if dir == "" && runtime.GOOS == "windows" {
			continue
		}
		if r := Host(1); r.Check() != nil {
			t.Errorf("folder %q: got %+v, want rates", dir, r)
		}
		if err := Keep(flat()); err == nil {
			t.Errorf("folder %q: got no error from Keep, want one", dir)
		}
	}
}

func TestRatesAreReplacedWhole(t *testing.T) {
	cacheIn(t, t.TempDir())
	if err := Keep(flat()); err != nil {
		t.Fatal(err)
	}
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 50 {
				if err := Keep(flat()); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 50 {
				if Cached(2) == nil {
					t.Error("got no rates while they are being replaced, want the old or the new")
				}
			}
		})
	}
	group.Wait()
}

func TestMachineIsTheSameEachTime(t *testing.T) {
	if a, b := Machine(), Machine(); a != b || !strings.HasPrefix(a, runtime.GOARCH) {
		t.Errorf("got %q and %q, want one fingerprint", a, b)
	}
}
