package cost

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/stowage-ml/stowage/internal/simd"
)

// ratesFormat changes when rates are measured in another way, so that those of before do not count.
const ratesFormat = 1

// Machine is the fingerprint of the processor: its model, its instructions, and how many of its cores
// the process has. Measurements of another one do not count.
func Machine() string {
	h := sha256.Sum256(fmt.Appendf(nil, "%s; %d cores; %v; format %d", simd.Machine(), runtime.NumCPU(), simd.Best(),
		ratesFormat))
	return fmt.Sprintf("%s-%s-%d-%s", runtime.GOARCH, simd.Best(), runtime.NumCPU(), hex.EncodeToString(h[:8]))
}

// ratesFile is the JSON of a file of rates.
type ratesFile struct {
	Machine string `json:"machine"`
	Rates   *Rates `json:"rates"`
}

// maxRatesFile is the size in bytes of the largest file of rates that is read.
const maxRatesFile = 1 << 20

// ratesPath is the file of a machine's rates with so many workers.
func ratesPath(threads int) (string, error) {
	dir, err := cacheDir()
	return filepath.Join(dir, fmt.Sprintf("rates-%s-%d.json", Machine(), threads)), err
}

// Cached returns the rates of this machine that are kept in the user's cache folder; nil when there
// are none, or none that can be used.
func Cached(threads int) *Rates {
	path, err := ratesPath(threads)
	if err != nil {
		return nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxRatesFile))
	if err != nil {
		return nil
	}
	r, err := decodeRates(data, Machine(), threads)
	if err != nil {
		return nil
	}
	return r
}

func decodeRates(data []byte, machine string, threads int) (*Rates, error) {
	var f ratesFile
	if err := json.Unmarshal(data, &f); err != nil {
		return nil, fmt.Errorf("cost: rates: %w", err)
	}
	if f.Machine != machine || f.Rates == nil || f.Rates.Threads != threads {
		return nil, fmt.Errorf("cost: rates: got those of %q, want those of %q with %d threads", f.Machine, machine, threads)
	}
	return f.Rates, f.Rates.Check()
}

// Host returns the rates of this machine: those in the user's cache folder, or, measured now, what
// is kept there from now on. A folder that cannot be read or written only costs the time to measure.
func Host(threads int) *Rates {
	if r := Cached(threads); r != nil {
		return r
	}
	r := Measure(threads)
	_ = Keep(r)
	return r
}

// Keep replaces the rates in the user's cache folder.
func Keep(r *Rates) error {
	if err := r.Check(); err != nil {
		return err
	}
	path, err := ratesPath(r.Threads)
	if err != nil {
		return err
	}
	data, err := json.MarshalIndent(ratesFile{Machine: Machine(), Rates: r}, "", "  ")
	if err != nil {
		return fmt.Errorf("cost: rates: %w", err)
	}
	return replace(path, append(data, '\n'))
}

// replace writes a file such that whoever reads it sees all of the old or all of the new contents.
func replace(path string, data []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	f, err := os.CreateTemp(dir, filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("cost: %w", err)
	}
	_, err = f.Write(data)
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("cost: %w", err)
	}
	return nil
}
