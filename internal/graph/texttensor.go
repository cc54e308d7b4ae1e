package graph

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"math"
	"strconv"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// inlineMax is the number of elements up to which a constant is spelled out.
const inlineMax = 64

// textBytes is the number of bytes that the constants of one text may have in memory.
const textBytes = 64 << 20

// codec writes and reads elements of one type; it serves the types that have a Go type.
type codec struct {
	// text returns element i; exact is false when read would not give the same bits back.
	text func(t *tensor.Tensor, i int) (s string, exact bool)
	// read stores the word w as element i; quoted says that it stood in quotes.
	read func(t *tensor.Tensor, i int, w string, quoted bool) bool
}

var codecs = map[tensor.DType]codec{
	tensor.Float32: floatCodec(32, func(v float64) float32 { return float32(v) },
		func(v float32) float64 { return float64(v) }),
	tensor.Float64: floatCodec(64, func(v float64) float64 { return v }, func(v float64) float64 { return v }),
	tensor.Float16: floatCodec(32, func(v float64) tensor.Half { return tensor.HalfOf(float32(v)) },
		func(v tensor.Half) float64 { return float64(v.Float32()) }),
	tensor.BFloat16: floatCodec(32, func(v float64) tensor.Brain { return tensor.BrainOf(float32(v)) },
		func(v tensor.Brain) float64 { return float64(v.Float32()) }),
	tensor.Int8:   intCodec[int8](8),
	tensor.Int16:  intCodec[int16](16),
	tensor.Int32:  intCodec[int32](32),
	tensor.Int64:  intCodec[int64](64),
	tensor.Uint8:  uintCodec[uint8](8),
	tensor.Uint16: uintCodec[uint16](16),
	tensor.Uint32: uintCodec[uint32](32),
	tensor.Uint64: uintCodec[uint64](64),
	tensor.Bool:   {text: boolText, read: readBool},
	tensor.String: {text: stringText, read: readString},
}

func floatCodec[T float32 | float64 | tensor.Half | tensor.Brain](
	bits int, from func(float64) T, to func(T) float64,
) codec {
	return codec{
		text: func(t *tensor.Tensor, i int) (string, bool) {
			v := tensor.Cast[T](t.Bytes())[i]
			f := to(v)
			canonical := []T{v, from(math.NaN())}
			raw := tensor.Of(canonical...).Bytes()
			same := string(raw[:len(raw)/2]) == string(raw[len(raw)/2:])
			return floatText(f, bits), !math.IsNaN(f) || same
		},
		read: func(t *tensor.Tensor, i int, w string, quoted bool) bool {
			f, ok := readFloat(w, bits)
			tensor.Cast[T](t.Bytes())[i] = from(f)
			return ok && !quoted
		},
	}
}

func intCodec[T int8 | int16 | int32 | int64](bits int) codec {
	return codec{
		text: func(t *tensor.Tensor, i int) (string, bool) {
			return strconv.FormatInt(int64(tensor.Cast[T](t.Bytes())[i]), 10), true
		},
		read: func(t *tensor.Tensor, i int, w string, quoted bool) bool {
			n, err := strconv.ParseInt(w, 10, bits)
			tensor.Cast[T](t.Bytes())[i] = T(n)
			return err == nil && !quoted
		},
	}
}

func uintCodec[T uint8 | uint16 | uint32 | uint64](bits int) codec {
	return codec{
		text: func(t *tensor.Tensor, i int) (string, bool) {
			return strconv.FormatUint(uint64(tensor.Cast[T](t.Bytes())[i]), 10), true
		},
		read: func(t *tensor.Tensor, i int, w string, quoted bool) bool {
			n, err := strconv.ParseUint(w, 10, bits)
			tensor.Cast[T](t.Bytes())[i] = T(n)
			return err == nil && !quoted
		},
	}
}

func boolText(t *tensor.Tensor, i int) (string, bool) {
	b := t.Bytes()[i]
	return strconv.FormatBool(b != 0), b <= 1
}

func readBool(t *tensor.Tensor, i int, w string, quoted bool) bool {
	if w == "true" {
		t.Bytes()[i] = 1
	}
	return !quoted && (w == "true" || w == "false")
}

func stringText(t *tensor.Tensor, i int) (string, bool) { return strconv.Quote(t.Strings()[i]), true }

func readString(t *tensor.Tensor, i int, w string, quoted bool) bool {
	t.Strings()[i] = w
	return quoted
}

// floatText returns the shortest text that gives the same float, with a mark ("." or an exponent)
// that tells it from an integer.
func floatText(v float64, bits int) string {
	switch {
	case math.IsNaN(v):
		return "nan"
	case math.IsInf(v, 1):
		return "inf"
	case math.IsInf(v, -1):
		return "-inf"
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return s
}

func readFloat(w string, bits int) (float64, bool) {
	if strings.ContainsAny(w, "xX_") {
		return 0, false
	}
	f, err := strconv.ParseFloat(w, bits)
	return f, err == nil
}

// tensorText returns a constant's type and its elements in row-major order, one value for all of
// them, their bytes in hexadecimal where there is no shorter exact form, or their hash.
func tensorText(t *tensor.Tensor) string {
	if t == nil {
		return "nil"
	}
	head := t.String() + " "
	n := t.Len()
	c, ok := codecs[t.DType()]
	if n > inlineMax {
		if s, same := sameText(c, ok, t); same {
			return head + "fill " + s
		}
		return head + hashText(t)
	}
	words := make([]string, n)
	for i := range words {
		exact := false
		if ok {
			words[i], exact = c.text(t, i)
		}
		if !exact {
			return head + `hex "` + hex.EncodeToString(t.Bytes()) + `"`
		}
	}
	return head + "[" + strings.Join(words, ", ") + "]"
}

// sameText returns the text of every element when all are the same.
func sameText(c codec, ok bool, t *tensor.Tensor) (string, bool) {
	if !ok {
		return "", false
	}
	for _, s := range t.Strings() {
		if s != t.Strings()[0] {
			return "", false
		}
	}
	b, w := t.Bytes(), t.DType().Bits()/8
	for i := w; i < len(b); i++ {
		if b[i] != b[i-w] {
			return "", false
		}
	}
	return c.text(t, 0)
}

func hashText(t *tensor.Tensor) string {
	h := fnv.New64a()
	h.Write(t.Bytes())
	for _, s := range t.Strings() {
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	return fmt.Sprintf("#%016x", h.Sum64())
}

// parseTensor reads what tensorText writes, but for a hash; nil for "nil" and on an error.
func (p *parser) parseTensor() *tensor.Tensor {
	if p.eatWord("nil") {
		return nil
	}
	dt := p.parseDType()
	dims, ok := p.parseShape().Concrete()
	if p.err == nil && !ok {
		p.failf("got a constant of unknown shape, want numbers")
	}
	t := p.newTensor(dt, dims)
	if p.err != nil {
		return nil
	}
	switch {
	case p.at('#'):
		p.failf("got the hash of %v, want its elements: the text leaves out large constants", t)
	case p.eatWord("hex"):
		p.readHex(t)
	case p.eatWord("fill"):
		p.readFill(t)
	default:
		p.readElements(t)
	}
	return t
}

// newTensor makes an empty constant within the limit of what a text may hold.
func (p *parser) newTensor(dt tensor.DType, dims tensor.Shape) *tensor.Tensor {
	if p.err != nil {
		return nil
	}
	n, _ := dims.Elements()
	size, ok := dt.ByteSize(n)
	if dt == tensor.String {
		size = min(n, textBytes) * 16
	}
	if size += 64; ok && size > textBytes-p.used {
		p.failf("got constants of more than %d bytes", textBytes)
		return nil
	}
	p.used += size
	t, err := tensor.Zeros(dt, dims)
	if err != nil {
		p.failf("%v", err)
	}
	return t
}

// readFill reads one element and copies it to all others.
func (p *parser) readFill(t *tensor.Tensor) {
	if t.Len() == 0 {
		p.failf("got one element for %v, want none", t)
		return
	}
	if p.readElement(t, 0); p.err != nil {
		return
	}
	for i := range t.Strings() {
		t.Strings()[i] = t.Strings()[0]
	}
	b, w := t.Bytes(), t.DType().Bits()/8
	for i := w; i < len(b); i += w {
		copy(b[i:i+w], b[:w])
	}
}

func (p *parser) readHex(t *tensor.Tensor) {
	b, err := hex.DecodeString(p.quoted())
	if err != nil || len(b) != len(t.Bytes()) || t.DType() == tensor.String {
		p.failf("got %d bytes in hexadecimal, want %d for %v", len(b), len(t.Bytes()), t)
		return
	}
	copy(t.Bytes(), b)
}

func (p *parser) readElements(t *tensor.Tensor) {
	p.want("[")
	i := 0
	for ; !p.eat("]") && p.err == nil; i++ {
		if i > 0 {
			p.want(",")
		}
		if i >= t.Len() {
			p.failf("got more than %d elements for %v", t.Len(), t)
			return
		}
		p.readElement(t, i)
	}
	if i < t.Len() {
		p.failf("got %d elements for %v, want %d", i, t, t.Len())
	}
}

func (p *parser) readElement(t *tensor.Tensor, i int) {
	c, ok := codecs[t.DType()]
	if !ok {
		p.failf("got elements of %v, want hexadecimal", t)
		return
	}
	quoted := p.at('"')
	w := ""
	if quoted {
		w = p.quoted()
	} else {
		w = p.number()
	}
	if p.err == nil && !c.read(t, i, w, quoted) {
		p.failf("got element %q, want one of %v", w, t.DType())
	}
}
