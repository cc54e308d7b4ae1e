package cost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
)

// The store's file format, as far as its structure goes: bbolt maps the file and trusts it, so
// that a damaged page would end the process. checkPages follows every reference first. All
// integers are in the machine's own byte order.
const (
	pageHeader  = 16
	pageElement = 16
	bucketBytes = 16
	metaBytes   = 64
	metaMagic   = 0xED0CDAED
	metaVersion = 2
	noFreelist  = ^uint64(0)

	flagBranch   = 0x01
	flagLeaf     = 0x02
	flagFreelist = 0x10
	// flagBucket marks an element of a leaf whose value is a bucket.
	flagBucket = 0x01
)

var order = binary.NativeEndian

// pages is a store's file under examination.
type pages struct {
	data []byte
	size uint64
	// end is the first page number that is not in use yet.
	end  uint64
	seen map[uint64]bool
}

// checkPages fails when a reference between the pages of a store leads out of the file, in a
// circle, or to a page of another kind.
func checkPages(data []byte) error {
	m := newestMeta(data)
	if m == nil {
		return errors.New("got no valid header, want one of two")
	}
	p := &pages{data: data, size: uint64(order.Uint32(m[8:])), end: order.Uint64(m[40:]), seen: map[uint64]bool{}}
	if err := p.tree(order.Uint64(m[16:])); err != nil {
		return err
	}
	if free := order.Uint64(m[32:]); free != noFreelist {
		return p.freelist(free)
	}
	return nil
}

// newestMeta returns the header that counts: of the valid ones, that of the latest transaction.
func newestMeta(data []byte) []byte {
	var best []byte
	consider := func(at uint64) (size uint64) {
		if at+pageHeader+metaBytes > uint64(len(data)) {
			return 0
		}
		m := data[at+pageHeader:][:metaBytes]
		h := fnv.New64a()
		h.Write(m[:56])
		size = uint64(order.Uint32(m[8:]))
		plausible := size >= 1024 && size <= 1<<20 && size&(size-1) == 0
		if order.Uint32(m) != metaMagic || order.Uint32(m[4:]) != metaVersion || order.Uint64(m[56:]) != h.Sum64() ||
			!plausible {
			return 0
		}
		if best == nil || order.Uint64(m[48:]) > order.Uint64(best[48:]) {
			best = m
		}
		return size
	}
	if size := consider(0); size > 0 {
		consider(size)
		return best
	}
	for size := uint64(1024); size <= 1<<16 && best == nil; size *= 2 {
		if consider(size) != size {
			best = nil
		}
	}
	return best
}

// page returns the bytes of a page and those that continue it, and its kind and count.
func (p *pages) page(id uint64) (b []byte, kind, count uint16, err error) {
	have := uint64(len(p.data)) / p.size
	if id < 2 || id >= p.end || id >= have {
		return nil, 0, 0, fmt.Errorf("page %d: got a reference to it, want 2 to %d", id, min(p.end, have))
	}
	b = p.data[id*p.size:]
	more := uint64(order.Uint32(b[12:]))
	if own := order.Uint64(b); own != id || more >= have-id {
		return nil, 0, 0, fmt.Errorf("page %d: got number %d and %d more pages, want its own number and what the file has",
			id, own, more)
	}
	for k := id; k <= id+more; k++ {
		if p.seen[k] {
			return nil, 0, 0, fmt.Errorf("page %d: got two references to it, want one", k)
		}
		p.seen[k] = true
	}
	return b[:(more+1)*p.size], order.Uint16(b[8:]), order.Uint16(b[10:]), nil
}

// tree checks a page of a tree and all below it.
func (p *pages) tree(id uint64) error {
	b, kind, count, err := p.page(id)
	if err != nil {
		return err
	}
	switch kind {
	case flagLeaf:
		err = p.leaf(b, int(count), true)
	case flagBranch:
		err = p.branch(b, int(count))
	default:
		err = fmt.Errorf("got kind %#x, want a branch or a leaf", kind)
	}
	if err != nil {
		return fmt.Errorf("page %d: %w", id, err)
	}
	return nil
}

func (p *pages) branch(b []byte, count int) error {
	if count == 0 {
		return errors.New("got a branch without elements, want at least one")
	}
	for i := range count {
		e, err := element(b, i)
		if err != nil {
			return err
		}
		if _, err := within(e, uint64(order.Uint32(e)), uint64(order.Uint32(e[4:]))); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		if err := p.tree(order.Uint64(e[8:])); err != nil {
			return err
		}
	}
	return nil
}

// leaf checks a leaf's elements; nested says whether they may be buckets.
func (p *pages) leaf(b []byte, count int, nested bool) error {
	for i := range count {
		e, err := element(b, i)
		if err != nil {
			return err
		}
		at, key, value := uint64(order.Uint32(e[4:])), uint64(order.Uint32(e[8:])), uint64(order.Uint32(e[12:]))
		if _, err = within(e, at, key); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
		v := []byte{}
		if value > 0 {
			if v, err = within(e, at+key, value); err != nil {
				return fmt.Errorf("element %d: %w", i, err)
			}
		}
		if order.Uint32(e)&flagBucket == 0 {
			continue
		}
		if !nested {
			return fmt.Errorf("element %d: got a bucket inside of a small one, want a value", i)
		}
		if err := p.bucket(v); err != nil {
			return fmt.Errorf("element %d: %w", i, err)
		}
	}
	return nil
}

// bucket checks a bucket, which is a tree of its own or, when it is small, a leaf in the value.
func (p *pages) bucket(v []byte) error {
	if len(v) < bucketBytes {
		return fmt.Errorf("got a bucket of %d bytes, want at least %d", len(v), bucketBytes)
	}
	if root := order.Uint64(v); root != 0 {
		return p.tree(root)
	}
	v = v[bucketBytes:]
	if len(v) < pageHeader || order.Uint16(v[8:]) != flagLeaf {
		return errors.New("got a small bucket without a leaf, want one")
	}
	return p.leaf(v, int(order.Uint16(v[10:])), false)
}

// element returns a page's bytes from element i on.
func element(b []byte, i int) ([]byte, error) {
	at := pageHeader + i*pageElement
	if at+pageElement > len(b) {
		return nil, fmt.Errorf("element %d: got a page of %d bytes, want %d", i, len(b), at+pageElement)
	}
	return b[at:], nil
}

// within returns n bytes, at least one, at an offset.
func within(b []byte, at, n uint64) ([]byte, error) {
	if n == 0 || at+n > uint64(len(b)) {
		return nil, fmt.Errorf("got %d bytes at %d, want at least 1 within %d", n, at, len(b))
	}
	return b[at : at+n], nil
}

// freelist checks that the free pages exist and are not in use.
func (p *pages) freelist(id uint64) error {
	b, kind, count, err := p.page(id)
	if err != nil {
		return err
	}
	if kind != flagFreelist {
		return fmt.Errorf("page %d: got kind %#x, want the list of free pages", id, kind)
	}
	n, b := uint64(count), b[pageHeader:]
	if count == 0xFFFF {
		n, b = order.Uint64(b), b[8:]
	}
	if n > uint64(len(b))/8 {
		return fmt.Errorf("page %d: got %d free pages, want at most %d", id, n, len(b)/8)
	}
	for i := range n {
		free := order.Uint64(b[8*i:])
		if free < 2 || free >= p.end || p.seen[free] {
			return fmt.Errorf("page %d: got free page %d, want one that exists, is not in use and is listed once", id, free)
		}
		p.seen[free] = true
	}
	return nil
}
