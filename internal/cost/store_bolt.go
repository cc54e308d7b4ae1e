//go:build unix || windows

package cost

import (
	"errors"
	"fmt"
	"io/fs"
	"time"

	"go.etcd.io/bbolt"
)

// openStore opens a store that exists, and has checked it: to write, nobody else has it open.
func openStore(path string, write bool) (*bbolt.DB, error) {
	wait := readWait
	if write {
		wait = writeWait
	}
	// A reader's lock keeps writers away during the check.
	db, err := openBolt(path, true, wait)
	if err != nil {
		return nil, err
	}
	if err := checkStore(path); err != nil {
		_ = db.Close()
		return nil, err
	}
	if !write {
		return db, nil
	}
	if err := db.Close(); err != nil {
		return nil, fmt.Errorf("cost: store %q: %w", path, err)
	}
	return openBolt(path, false, wait)
}

func openBolt(path string, readOnly bool, wait time.Duration) (*bbolt.DB, error) {
	db, err := bbolt.Open(path, 0o666, &bbolt.Options{ReadOnly: readOnly, Timeout: wait, NoStatistics: true})
	if err == nil {
		return db, nil
	}
	if errors.Is(err, bbolt.ErrTimeout) {
		return nil, fmt.Errorf("cost: store %q: another process has had it for %v", path, wait)
	}
	if _, system := errors.AsType[*fs.PathError](err); system {
		return nil, fmt.Errorf("cost: store: %w", err)
	}
	return nil, fmt.Errorf("cost: store %q: %w: %w", path, err, ErrDamaged)
}

// viewStore calls visit with every record of a machine.
func viewStore(path, machine string, visit func(key, value []byte) error) error {
	if missing(path) {
		return fmt.Errorf("cost: store %q: %w", path, fs.ErrNotExist)
	}
	db, err := openStore(path, false)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.View(func(tx *bbolt.Tx) error {
		all := tx.Bucket([]byte(storeBucket))
		if all == nil {
			return nil
		}
		b := all.Bucket([]byte(machine))
		if b == nil {
			return nil
		}
		return b.ForEach(func(k, v []byte) error {
			if err := visit(k, v); err != nil {
				return fmt.Errorf("cost: store %q: %w: %w", path, err, ErrDamaged)
			}
			return nil
		})
	})
}

func updateStore(path, machine string, s *Samples) error {
	var db *bbolt.DB
	var err error
	if missing(path) {
		db, err = openBolt(path, false, writeWait)
	} else {
		db, err = openStore(path, true)
	}
	if err != nil {
		return err
	}
	err = db.Update(func(tx *bbolt.Tx) error {
		all, err := tx.CreateBucketIfNotExists([]byte(storeBucket))
		if err != nil {
			return fmt.Errorf("cost: store %q: %w", path, err)
		}
		b, err := all.CreateBucketIfNotExists([]byte(machine))
		if err != nil {
			return fmt.Errorf("cost: store %q: %w", path, err)
		}
		for _, k := range s.sorted() {
			v, err := merged(k.bytes(), b.Get(k.bytes()), s.records[k])
			if err != nil {
				return fmt.Errorf("cost: store %q: %w: %w", path, err, ErrDamaged)
			}
			if err := b.Put(k.bytes(), v); err != nil {
				return fmt.Errorf("cost: store %q: %w", path, err)
			}
		}
		return nil
	})
	if closing := db.Close(); err == nil && closing != nil {
		err = fmt.Errorf("cost: store %q: %w", path, closing)
	}
	return err
}
