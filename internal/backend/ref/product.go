package ref

// factor lists the types that matrix products and convolutions accumulate in.
type factor interface {
	float32 | float64 | int32 | int64 | uint32 | uint64
}

// matrix is a matrix inside a slice: element (i, j) is at[i·row + j·col].
type matrix[T factor] struct {
	at       []T
	row, col int
}

// productRows and productCols bound the part of the right operand that a product keeps in cache.
const (
	productRows = 256
	productCols = 512
)

// mulAdd adds a·b to dst, of m×n elements; k is the inner extent. The columns of dst must be
// adjacent. It is quickest when those of b are, or the rows of b and the columns of a.
func mulAdd[T factor](dst, a, b matrix[T], m, k, n int) {
	switch {
	case m == 0 || k == 0 || n == 0:
	case b.row == 1 && a.col == 1:
		mulDots(dst, a, b, m, k, n)
	case b.col == 1:
		for j := 0; j < n; j += productCols {
			w := min(productCols, n-j)
			for i := 0; i < k; i += productRows {
				h := min(productRows, k-i)
				mulRows(matrix[T]{dst.at[j:], dst.row, 1}, matrix[T]{a.at[i*a.col:], a.row, a.col},
					matrix[T]{b.at[i*b.row+j:], b.row, 1}, m, h, w)
			}
		}
	default:
		mulPlain(dst, a, b, m, k, n)
	}
}

func mulPlain[T factor](dst, a, b matrix[T], m, k, n int) {
	for i := range m {
		for j := range n {
			sum := T(0)
			for l := range k {
				sum += a.at[i*a.row+l*a.col] * b.at[l*b.row+j*b.col]
			}
			dst.at[i*dst.row+j] += sum
		}
	}
}

// mulRows adds to each row of dst the rows of b, four at a time.
func mulRows[T factor](dst, a, b matrix[T], m, k, n int) {
	for i := range m {
		d := dst.at[i*dst.row:][:n]
		l := 0
		for ; l+4 <= k; l += 4 {
			p := i*a.row + l*a.col
			q := l * b.row
			axpy4(d, b.at[q:], b.at[q+b.row:], b.at[q+2*b.row:], b.at[q+3*b.row:],
				a.at[p], a.at[p+a.col], a.at[p+2*a.col], a.at[p+3*a.col])
		}
		for ; l < k; l++ {
			axpy(d, b.at[l*b.row:], a.at[i*a.row+l*a.col])
		}
	}
}

func axpy4[T factor](dst, x0, x1, x2, x3 []T, a0, a1, a2, a3 T) {
	x0, x1, x2, x3 = x0[:len(dst)], x1[:len(dst)], x2[:len(dst)], x3[:len(dst)]
	for i := range dst {
		dst[i] += a0*x0[i] + a1*x1[i] + a2*x2[i] + a3*x3[i]
	}
}

func axpy[T factor](dst, x []T, a T) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}

// mulDots adds the dot products of the rows of a with the columns of b, four at a time.
func mulDots[T factor](dst, a, b matrix[T], m, k, n int) {
	for j := 0; j < n; j += 4 {
		for i := range m {
			x, d := a.at[i*a.row:][:k], dst.at[i*dst.row+j:]
			if j+4 <= n {
				q := j * b.col
				s0, s1, s2, s3 := dot4(x, b.at[q:], b.at[q+b.col:], b.at[q+2*b.col:], b.at[q+3*b.col:])
				d[0], d[1], d[2], d[3] = d[0]+s0, d[1]+s1, d[2]+s2, d[3]+s3
				continue
			}
			for l := range n - j {
				d[l] += dot(x, b.at[(j+l)*b.col:])
			}
		}
	}
}

func dot4[T factor](a, x0, x1, x2, x3 []T) (s0, s1, s2, s3 T) {
	x0, x1, x2, x3 = x0[:len(a)], x1[:len(a)], x2[:len(a)], x3[:len(a)]
	for i, v := range a {
		s0 += v * x0[i]
		s1 += v * x1[i]
		s2 += v * x2[i]
		s3 += v * x3[i]
	}
	return s0, s1, s2, s3
}

func dot[T factor](a, x []T) (sum T) {
	x = x[:len(a)]
	for i, v := range a {
		sum += v * x[i]
	}
	return sum
}
