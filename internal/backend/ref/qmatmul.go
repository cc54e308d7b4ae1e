package ref

import (
	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// intProduct is a product of 8-bit integers, computed in int32. The left operand is copied, less
// its zero points; the right one is read as it is, and its zero points are accounted for after.
type intProduct struct {
	*product
	// rows is the number of rows of one left matrix before products were joined: the number of
	// zero points and scales when there is one for each row.
	rows int
	left int
}

func newIntProduct(o *backend.Op, a, b int) *intProduct {
	as := o.In[a].Shape
	p := &intProduct{product: newProduct(as, o.In[b].Shape), rows: 1, left: count(as)}
	if len(as) > 1 {
		p.rows = int(as[len(as)-2])
	}
	return p
}

func (p *intProduct) run(out []int32, a, b, aZero, bZero *backend.View, left []int32) {
	for i := 0; i < p.left; i += max(p.k, 1) {
		shifted(left[i:][:p.k], a, i, zeroAt(aZero, i/p.k%max(p.rows, 1)))
	}
	clear(out)
	for i := range p.a {
		dst, row := out[i*p.m*p.n:][:p.m*p.n], left[p.a[i]:]
		if b.DType == tensor.Int8 {
			mulOctets(p.product, dst, row, tensor.Cast[int8](b.Data)[p.b[i]:])
		} else {
			mulOctets(p.product, dst, row, b.Data[p.b[i]:])
		}
		if len(bZero.Data) > 0 {
			p.unshift(dst, row, bZero)
		}
	}
}

// unshift takes the part of the result away that the right operand's zero points added.
func (p *intProduct) unshift(dst, left []int32, bZero *backend.View) {
	for i := range p.m {
		sum := int32(0)
		for _, v := range left[i*p.k:][:p.k] {
			sum += v
		}
		for j := range p.n {
			dst[i*p.n+j] -= sum * zeroAt(bZero, j)
		}
	}
}

// mulOctets adds a·b to dst.
func mulOctets[T int8 | uint8](p *product, dst, a []int32, b []T) {
	for j := 0; j < p.n; j += productCols {
		w := min(productCols, p.n-j)
		for i := range p.m {
			d, row := dst[i*p.n+j:][:w], a[i*p.k:][:p.k]
			l := 0
			for ; l+4 <= p.k; l += 4 {
				q := b[l*p.n+j:]
				octets4(d, q, q[p.n:], q[2*p.n:], q[3*p.n:], row[l], row[l+1], row[l+2], row[l+3])
			}
			for ; l < p.k; l++ {
				for x, v := range b[l*p.n+j:][:w] {
					d[x] += row[l] * int32(v)
				}
			}
		}
	}
}

func octets4[T int8 | uint8](dst []int32, x0, x1, x2, x3 []T, a0, a1, a2, a3 int32) {
	x0, x1, x2, x3 = x0[:len(dst)], x1[:len(dst)], x2[:len(dst)], x3[:len(dst)]
	for i := range dst {
		dst[i] += a0*int32(x0[i]) + a1*int32(x1[i]) + a2*int32(x2[i]) + a3*int32(x3[i])
	}
}

func makeMatMulInteger(o *backend.Op) (prepared, error) {
	p := newIntProduct(o, 0, 1)
	return prepared{scratch: int64(4 * p.left), run: func(c *backend.Call) error {
		p.run(elems[int32](&c.Out[0]), &c.In[0], &c.In[1], input(c, 2), input(c, 3),
			tensor.Cast[int32](c.Scratch)[:p.left])
		return nil
	}}, nil
}

func makeQLinearMatMul(o *backend.Op) (prepared, error) {
	p := newIntProduct(o, 0, 3)
	sums := count(o.Out[0].Shape)
	return prepared{scratch: int64(4 * (p.left + sums)), run: func(c *backend.Call) error {
		left, acc := tensor.Cast[int32](c.Scratch)[:p.left], tensor.Cast[int32](c.Scratch)[p.left:][:sums]
		p.run(acc, &c.In[0], &c.In[3], &c.In[2], &c.In[5], left)
		for i := 0; i < sums; i += max(p.n, 1) {
			row := i / p.n % max(p.rows, 1)
			a, y, zero := scaleAt(&c.In[1], row), scaleAt(&c.In[6], 0), zeroAt(&c.In[7], 0)
			if count(c.In[4].Shape) == 1 {
				requantize(&c.Out[0], i, acc[i:][:p.n], a*scaleAt(&c.In[4], 0)/y, zero)
				continue
			}
			for j := range p.n {
				requantize(&c.Out[0], i+j, acc[i+j:][:1], a*scaleAt(&c.In[4], j)/y, zero)
			}
		}
		return nil
	}}, nil
}
