package cost

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime/debug"
	"time"
)

// ErrDamaged is wrapped by errors about a store that exists and cannot be used.
var ErrDamaged = errors.New("the store is damaged; delete it, or name another file, and calibrate again")

const (
	// storeName is the store's file in the cache folder.
	storeName = "measurements.db"
	// storeBucket holds one bucket for each machine, by fingerprint. The number is that of the
	// format of keys and records.
	storeBucket = "measurements 1"
	// readWait and writeWait bound the wait for other processes.
	readWait  = 200 * time.Millisecond
	writeWait = 10 * time.Second
	// maxStore is the size in bytes of the largest store that is read.
	maxStore = 256 << 20
)

// StorePath is the file in the user's cache folder that measurements are kept in.
func StorePath() (string, error) {
	dir, err := cacheDir()
	return filepath.Join(dir, storeName), err
}

// cacheDir is the project's own part of the user's cache folder.
func cacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cost: %w", err)
	}
	return filepath.Join(dir, "stowage"), nil
}

// ReadStore copies what a store holds for a machine into memory. Other processes may read at the
// same time; one that writes is waited for, briefly. A store that is not there is an error that
// wraps fs.ErrNotExist; one that cannot be what WriteStore wrote, an error that wraps ErrDamaged.
func ReadStore(path, machine string) (*Judge, error) {
	j := newJudge()
	err := guarded(path, func() error {
		return viewStore(path, machine, func(key, value []byte) error {
			k, r, err := decode(key, value)
			if err == nil {
				j.put(k, r)
			}
			return err
		})
	})
	if err != nil {
		return nil, err
	}
	j.seal()
	return j, nil
}

// WriteStore adds the samples to those that a store holds for a machine; a store that is not there
// is made. Other processes that write are waited for.
func WriteStore(path, machine string, s *Samples) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("cost: store %q: %w", path, err)
	}
	return guarded(path, func() error { return updateStore(path, machine, s) })
}

// CheckStore fails when a store that exists cannot be read or is damaged: what WriteStore would fail
// for.
func CheckStore(path string) error {
	if missing(path) {
		return nil
	}
	_, err := ReadStore(path, "")
	return err
}

// guarded calls f, which works on a mapped file, and turns what goes wrong there into an error.
func guarded(path string, f func() error) (err error) {
	faults := debug.SetPanicOnFault(true)
	defer debug.SetPanicOnFault(faults)
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("cost: store %q: got %v: %w", path, p, ErrDamaged)
		}
	}()
	return f()
}

// checkStore fails when a store that exists is damaged. It must not be written at the same time.
func checkStore(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("cost: store: %w", err)
	}
	if info.Size() > maxStore {
		return fmt.Errorf("cost: store %q: got %d bytes, want at most %d: %w", path, info.Size(), maxStore, ErrDamaged)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("cost: store: %w", err)
	}
	if err := checkPages(data); err != nil {
		return fmt.Errorf("cost: store %q: %w: %w", path, err, ErrDamaged)
	}
	return nil
}

// missing reports whether there is no store, or an empty file, at a path.
func missing(path string) bool {
	info, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist) || err == nil && info.Size() == 0
}

func (k Key) bytes() []byte { return append(append([]byte{}, k.class[:]...), k.shape[:]...) }

// decode reads one record and its key.
func decode(key, value []byte) (Key, *Record, error) {
	var k Key
	if len(key) != len(k.class)+len(k.shape) {
		return k, nil, fmt.Errorf("got a key of %d bytes, want %d", len(key), len(k.class)+len(k.shape))
	}
	copy(k.class[:], key)
	copy(k.shape[:], key[len(k.class):])
	r := &Record{}
	if err := json.Unmarshal(value, r); err != nil {
		return k, nil, fmt.Errorf("record %x: %w", key, err)
	}
	if err := r.check(); err != nil {
		return k, nil, fmt.Errorf("record %x: %w", key, err)
	}
	return k, r, nil
}

// merged returns the JSON of a record with those of a stored one before it, if there is one.
func merged(key, stored []byte, r *Record) ([]byte, error) {
	sum := *r
	if stored != nil {
		_, old, err := decode(key, stored)
		if err != nil {
			return nil, err
		}
		old.add(r.Ns)
		old.Count = min(old.Count+r.Count-int64(len(r.Ns)), maxCount)
		sum.Count, sum.Ns = old.Count, old.Ns
	}
	return json.Marshal(&sum)
}
