package cost

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
)

// filled writes a store with records of n shapes for two machines, and returns its path.
func filled(t testing.TB, n int64) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "sub", "store.db")
	for _, machine := range []string{"this", "other"} {
		if err := WriteStore(path, machine, samples(n)); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

func samples(n int64) *Samples {
	s := &Samples{}
	c := backend.Candidate{Name: "gemm", Source: "avx2", Flops: 0.5}
	for i := range n {
		o := matmul(i+1, 3, 5)
		s.Add("cpu", o, work(o), &c, 100+i, 100+i, 200+i)
	}
	return s
}

func TestStoreGivesBackWhatWasWritten(t *testing.T) {
	for _, n := range []int64{1, 3, 700} {
		path := filled(t, n)
		j, err := ReadStore(path, "this")
		if err != nil {
			t.Fatal(err)
		}
		if j.Len() != int(n) {
			t.Fatalf("got %d records, want %d", j.Len(), n)
		}
		m := &Model{Device: "cpu", Rates: flat(), Judge: j}
		o, c := matmul(1, 3, 5), backend.Candidate{Name: "gemm", Source: "avx2", Flops: 0.5}
		if e := m.Estimate(o, work(o), &c); e.Ns != 100 || e.Source != Measured || e.Samples != 3 {
			t.Errorf("got %+v, want 100 ns, measured 3 times", e)
		}
		if j, err = ReadStore(path, "third"); err != nil || j.Len() != 0 {
			t.Errorf("another machine: got %d records and %v, want none", j.Len(), err)
		}
		checked(t, path)
	}
}

func checked(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err == nil {
		err = checkPages(data)
	}
	if err != nil {
		t.Errorf("a sound store: got %v, want no error", err)
	}
}

func TestStoreAddsUp(t *testing.T) {
	path := filled(t, 200)
	for range 20 {
		if err := WriteStore(path, "this", samples(200)); err != nil {
			t.Fatal(err)
		}
	}
	j, err := ReadStore(path, "this")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range j.exact {
		if v.samples != MaxSamples {
			t.Fatalf("got %d samples, want the latest %d", v.samples, MaxSamples)
		}
	}
	checked(t, path)
}

func TestStoreOfManyProcesses(t *testing.T) {
	path := filled(t, 20)
	var group sync.WaitGroup
	for range 4 {
		group.Go(func() {
			for range 5 {
				if err := WriteStore(path, "this", samples(20)); err != nil {
					t.Error(err)
				}
			}
		})
		group.Go(func() {
			for range 20 {
				j, err := ReadStore(path, "this")
				if err != nil {
					// A reader gives up waiting before a plan becomes slow.
					if errors.Is(err, ErrDamaged) {
						t.Error(err)
					}
				} else if j.Len() != 20 {
					t.Errorf("got %d records, want 20", j.Len())
				}
			}
		})
	}
	group.Wait()
	checked(t, path)
}

func TestMissingStoreIsNotDamaged(t *testing.T) {
	path := filepath.Join(t.TempDir(), "none.db")
	for _, create := range []bool{false, true} {
		if create {
			if err := os.WriteFile(path, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := ReadStore(path, "this"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("got %v, want an error that says that there is none", err)
		}
	}
	if err := WriteStore(path, "this", samples(1)); err != nil {
		t.Errorf("an empty file: got %v, want a store in it", err)
	}
}

func TestDamagedStoreIsAnErrorThatSaysSo(t *testing.T) {
	path := filled(t, 700)
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := make([]byte, 10_000)
	copy(text, "not a store")
	wrecks := map[string][]byte{"text": text, "short text": text[:20], "one page": good[:4096], "half": good[:len(good)/2]}
	for name, wreck := range wrecks {
		if err := os.WriteFile(path, wreck, 0o666); err != nil {
			t.Fatal(err)
		}
		if _, err := ReadStore(path, "this"); !errors.Is(err, ErrDamaged) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: read: got %v, want an error that names the file as damaged", name, err)
		}
		if err := WriteStore(path, "this", samples(1)); !errors.Is(err, ErrDamaged) {
			t.Errorf("%s: write: got %v, want an error that says it is damaged", name, err)
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != string(wreck) {
			t.Errorf("%s: got another file after a failure, want it as it was", name)
		}
	}
}

// FuzzStore damages a store's bytes, in up to four places.
func FuzzStore(f *testing.F) {
	path := filled(f, 700)
	good, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(uint32(0), []byte{1}, uint32(4096), []byte{2}, uint32(8192), []byte{0xff}, uint32(len(good)))
	f.Add(uint32(40), []byte{1}, uint32(4096+40), []byte{2}, uint32(3*4096+8), []byte{0, 0}, uint32(len(good)))
	f.Add(uint32(3*4096+16), []byte("\xff\xff\xff\xff"), uint32(0), []byte{}, uint32(0), []byte{}, uint32(5*4096))
	f.Fuzz(func(t *testing.T, a uint32, av []byte, b uint32, bv []byte, c uint32, cv []byte, size uint32) {
		data := append([]byte{}, good[:min(int(size), len(good))]...)
		for _, p := range []struct {
			at uint32
			v  []byte
		}{{a, av}, {b, bv}, {c, cv}} {
			if len(data) > 0 {
				copy(data[int(p.at)%len(data):], p.v)
			}
		}
		path := filepath.Join(t.TempDir(), "store.db")
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
		if j, err := ReadStore(path, "this"); err == nil && j.Len() > 700 {
			t.Fatalf("got %d records, want at most 700", j.Len())
		}
		if err := WriteStore(path, "this", samples(3)); err == nil {
			if _, err := ReadStore(path, "this"); err != nil && !errors.Is(err, ErrDamaged) {
				t.Fatal(err)
			}
		}
	})
}

// FuzzRecord feeds the decoder of records anything.
func FuzzRecord(f *testing.F) {
	k := KeyOf("cpu", matmul(1, 2, 3), &backend.Candidate{}).bytes()
	f.Add(k, []byte(`{"op":"MatMul","flops":12,"bytes":44,"count":3,"ns":[5,6,7]}`))
	f.Add(k[:5], []byte(`{}`))
	f.Add(k, []byte(`{"count":1,"ns":[-1]}`))
	f.Fuzz(func(t *testing.T, key, value []byte) {
		k, r, err := decode(key, value)
		if err != nil {
			return
		}
		if ns, spread := r.Typical(); ns < 0 || spread < 0 {
			t.Fatalf("got %d ns and spread %d, want at least 0", ns, spread)
		}
		again, err := merged(k.bytes(), value, r)
		if err != nil {
			t.Fatal(err)
		}
		if _, sum, err := decode(key, again); err != nil || sum.Count < r.Count {
			t.Fatalf("added to itself: got %v and %v, want no fewer times than %d", sum, err, r.Count)
		}
	})
}

// FuzzRates feeds the decoder of rates anything.
func FuzzRates(f *testing.F) {
	data, err := json.Marshal(ratesFile{Machine: "this", Rates: flat()})
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add([]byte(`{"machine":"this","rates":{"threads":2}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeRates(data, "this", 2)
		if err != nil {
			return
		}
		m := &Model{Rates: r}
		o := matmul(9, 9, 9)
		for _, c := range []backend.Candidate{{}, {Flops: 0.5, Stream: 0.5}} {
			if ns, _ := m.Kernel(o, work(o), &c); ns < 1 {
				t.Fatalf("got %d ns, want at least 1", ns)
			}
		}
	})
}
