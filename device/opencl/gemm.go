package opencl

import (
	"fmt"
	"strings"

	"github.com/stowage-ml/stowage/tensor"
)

// matrix is an operand of a product: element (row, column) of batch b is at
// first + b·batch + row·down + column·across.
type matrix struct {
	v                          *value
	first, batch, down, across int64
}

// gemm is a product y[b] = a[b]·p[b] of batches of matrices, where p is packed in panels.
type gemm struct {
	m, n, k, batch int64
	a              matrix
	// strips says that a is packed in strips of as many rows as a tile has, each column by column.
	strips bool
	// panels is the packed right side, and panelBatch what lies between two batches of it, in elements;
	// 0 where all share it.
	panels     *value
	panelBatch int64
	// y is where the result goes, row-major in each batch, from element first on.
	y     *value
	first int64
	// bias is added, when present, at b·batch + row·down + column·across; scale multiplies the product, and
	// biasScale the bias.
	bias             matrix
	scale, biasScale float32
	// tail is applied to each element, extra being where its other operands' elements are.
	tail  *tail
	extra map[int]matrix
}

// tile is the shape of what one step of a processor's kernel computes: rows × vectors·width columns.
type tile struct{ rows, vectors, width int64 }

func (t tile) columns() int64 { return t.vectors * t.width }

// tileOf is the tile of a device: as many sums as its registers hold.
func (d *Device) tile() tile {
	if d.id.cpu {
		return cpuTile
	}
	return tile{4, 1, 4}
}

var cpuTile = tile{8, 2, 16}

// panelsOf is the memory of so many columns of so many elements, in panels, for each batch.
func (b *builder) panelsOf(batch, k, n int64) (v *value, size int64) {
	nr := b.d.tile().columns()
	size = (n + nr - 1) / nr * nr * k
	return b.temp(tensor.Float32, tensor.Shape{batch * size}), size
}

// pack adds the task that packs a right side of k rows and n columns.
func (b *builder) pack(x matrix, batch, k, n int64, panels *value, size int64) {
	b.packWide(x, batch, k, n, panels, size, b.d.tile().columns())
}

// packWide is pack for panels of nr columns.
func (b *builder) packWide(x matrix, batch, k, n int64, panels *value, size, nr int64) {
	c := newCode(b.d)
	c.read("p", x.v)
	c.write("y", panels)
	for _, num := range []struct {
		name string
		n    int64
	}{{"n", n}, {"k", k}, {"first", x.first}, {"batch", x.batch}, {"down", x.down}, {"size", size}} {
		c.num(num.name, num.n)
	}
	if x.across != 1 {
		c.num("across", x.across)
	} else {
		c.f("const int across = 1;")
	}
	// An item does a run of rows of one panel.
	const run = 64
	c.grid([3]int64{(k + run - 1) / run, (n + nr - 1) / nr, batch}, [3]int64{1, 1, 1}, 3)
	c.f("int r0 = get_global_id(0) * %d, r1 = min(k, r0 + %d);", run, run)
	c.f("int c0 = get_global_id(1) * %d, b = get_global_id(2);", nr)
	c.f("p += first + b * batch + c0 * across; y += b * size + c0 * k;")
	c.f("int w = min(n - c0, %d);", nr)
	c.f("if (w == %d) { for (int r = r0; r < r1; r++) for (int j = 0; j < %d; j++)", nr, nr)
	c.f("y[r * %d + j] = p[r * down + j * across]; }", nr)
	c.f("else for (int r = r0; r < r1; r++) for (int j = 0; j < %d; j++)", nr)
	c.f("y[r * %d + j] = j < w ? p[r * down + j * across] : 0.0f;", nr)
	b.tasks = append(b.tasks, c.task())
}

// product adds the task of a product.
func (b *builder) product(g *gemm) bool {
	c := newCode(b.d)
	c.read("a", g.a.v)
	c.read("p", g.panels)
	var names []int
	if g.bias.v != nil {
		c.read("bias", g.bias.v)
	}
	if g.tail != nil {
		for _, i := range g.tail.order() {
			if i != g.tail.from {
				names = append(names, i)
				c.read(fmt.Sprintf("e%d", len(names)-1), g.tail.reads[i])
			}
		}
	}
	c.write("y", g.y)
	for _, num := range []struct {
		name string
		n    int64
	}{{"m", g.m}, {"n", g.n}, {"k", g.k}, {"a_first", g.a.first}, {"a_batch", g.a.batch}, {"a_down", g.a.down},
		{"p_batch", g.panelBatch}, {"y_first", g.first}} {
		c.num(num.name, num.n)
	}
	if g.a.across != 1 {
		c.num("a_across", g.a.across)
	} else {
		c.f("const int a_across = 1;")
	}
	finish, ok := b.finish(c, g, names)
	if !ok {
		return false
	}
	if b.d.id.cpu {
		cpuProduct(c, g, b.d.tile(), finish)
	} else {
		gpuProduct(c, g, b.d.tile(), finish)
	}
	b.tasks = append(b.tasks, c.task())
	return true
}

// finish is the lines that make of a sum s, of row r, column j and batch b, what is stored.
func (b *builder) finish(c *code, g *gemm, names []int) (text string, ok bool) {
	var lines []string
	at := func(name string, x *matrix) string {
		terms := []string{}
		for _, d := range []struct {
			name, by string
			n        int64
		}{{"first", "", x.first}, {"batch", "b", x.batch}, {"down", "r", x.down}, {"across", "j", x.across}} {
			switch {
			case d.n == 0:
			case d.n == 1 && d.by != "":
				terms = append(terms, d.by)
			default:
				c.num(name+"_"+d.name, d.n)
				terms = append(terms, strings.TrimSuffix(name+"_"+d.name+" * "+d.by, " * "))
			}
		}
		if len(terms) == 0 {
			return name + "[0]"
		}
		return name + "[" + strings.Join(terms, " + ") + "]"
	}
	if g.scale != 1 {
		lines = append(lines, "s *= "+float(g.scale)+";")
	}
	if g.bias.v != nil {
		text := at("bias", &g.bias)
		if g.biasScale != 1 {
			text += " * " + float(g.biasScale)
		}
		lines = append(lines, "s += "+text+";")
	}
	result := "s"
	if g.tail != nil {
		load := map[int]string{g.tail.from: "s"}
		for k, i := range names {
			x := g.extra[i]
			kind := typeNames[g.tail.reads[i].dtype]
			lines = append(lines, fmt.Sprintf("%s x%d = %s;", kind, k, at(fmt.Sprintf("e%d", k), &x)))
			load[i] = fmt.Sprintf("x%d", k)
		}
		more, t, ok := g.tail.lines(load)
		if !ok || t.dtype != tensor.Float32 {
			return "", false
		}
		lines, result = append(lines, more...), t.text
	}
	lines = append(lines, "y[y_first + (b * m + r) * n + j] = "+result+";")
	return strings.Join(lines, " "), true
}

// cpuRows is how many rows an item of a processor's kernel does with one panel.
const cpuRows = 64

// cpuProduct writes the kernel of a processor: an item does a block of rows and a panel of columns, in
// tiles whose sums stay in vector registers.
func cpuProduct(c *code, g *gemm, t tile, finish string) {
	nr := t.columns()
	mr := t.rows
	if !g.strips {
		mr = min(mr, max(1, g.m))
	}
	rows := int64(cpuRows)
	// Enough items for all units.
	for rows > t.rows && (g.m+rows-1)/rows*((g.n+nr-1)/nr)*g.batch < 8 {
		rows /= 2
	}
	c.num("rows", rows)
	c.grid([3]int64{(g.n + nr - 1) / nr, (g.m + rows - 1) / rows, g.batch}, [3]int64{1, 1, 1}, 3)
	v := fmt.Sprintf("float%d", t.width)
	c.f("int c0 = get_global_id(0) * %d, r0 = get_global_id(1) * rows, b = get_global_id(2);", nr)
	c.f("int r1 = min(m, r0 + rows), w = min(n - c0, %d);", nr)
	c.f("a += a_first + b * a_batch; p += b * p_batch + c0 * k;")
	c.f("for (int t = r0; t < r1; t += %d) {", mr)
	if g.strips {
		c.f("__global const float *strip = a + t * k;")
	}
	for i := range mr {
		if !g.strips {
			c.f("__global const float *a%d = a + min(t + %d, m - 1) * a_down;", i, i)
		}
		for j := range t.vectors {
			c.f("%s s%d_%d = 0.0f;", v, i, j)
		}
	}
	c.f("__global const float *q = p;")
	c.f("for (int i = 0; i < k; i++, q += %d) {", nr)
	for j := range t.vectors {
		c.f("%s q%d = vload%d(%d, q);", v, j, t.width, j)
	}
	for i := range mr {
		if g.strips {
			c.f("{ %s u = strip[i * %d + %d];", v, mr, i)
		} else {
			c.f("{ %s u = a%d[i * a_across];", v, i)
		}
		for j := range t.vectors {
			c.f("s%d_%d = fma(u, q%d, s%d_%d);", i, j, j, i, j)
		}
		c.f("}")
	}
	c.f("}\nfloat out[%d];", mr*nr)
	for i := range mr {
		for j := range t.vectors {
			c.f("vstore%d(s%d_%d, %d, out);", t.width, i, j, i*t.vectors+j)
		}
	}
	c.f("int last = min(%d, r1 - t);", mr)
	c.f("for (int i = 0; i < last; i++) { int r = t + i;")
	c.f("#pragma clang loop vectorize(assume_safety)\nfor (int h = 0; h < w; h++) {")
	c.f("int j = c0 + h; float s = out[i * %d + h]; %s } } }", nr, finish)
}

// gpuProduct writes the kernel of other devices: a group of 16 × 16 items does 64 × 64 elements, 4 × 4
// for each, from tiles in local memory.
func gpuProduct(c *code, g *gemm, t tile, finish string) {
	const side, each, deep = 16, 4, 16
	const edge = side * each
	nr := t.columns()
	c.grid([3]int64{(g.n + edge - 1) / edge * side, (g.m + edge - 1) / edge * side, g.batch}, [3]int64{side, side, 1}, 3)
	c.f("__local float la[%d][%d], lp[%d][%d];", deep, edge+1, deep, edge+1)
	c.f("int lx = get_local_id(0), ly = get_local_id(1), b = get_global_id(2), l = ly * %d + lx;", side)
	c.f("int r0 = get_group_id(1) * %d, c0 = get_group_id(0) * %d;", edge, edge)
	c.f("a += a_first + b * a_batch; p += b * p_batch;")
	c.f("float sums[%d][%d];", each, each)
	c.f("for (int i = 0; i < %d; i++) for (int h = 0; h < %d; h++) sums[i][h] = 0.0f;", each, each)
	c.f("for (int k0 = 0; k0 < k; k0 += %d) {", deep)
	c.f("for (int e = l; e < %d; e += %d) { int kk = e %% %d, i = e / %d;", deep*edge, side*side, deep, deep)
	c.f("la[kk][i] = k0 + kk < k && r0 + i < m ? a[(r0 + i) * a_down + (k0 + kk) * a_across] : 0.0f; }")
	c.f("for (int e = l; e < %d; e += %d) { int i = e %% %d, kk = e / %d, j = c0 + i;", deep*edge, side*side, edge, edge)
	c.f("lp[kk][i] = k0 + kk < k && j < n ? p[j / %d * %d * k + (k0 + kk) * %d + j %% %d] : 0.0f; }", nr, nr, nr, nr)
	c.f("barrier(CLK_LOCAL_MEM_FENCE);")
	c.f("for (int kk = 0; kk < %d; kk++) for (int i = 0; i < %d; i++) { float u = la[kk][ly + i * %d];", deep, each, side)
	c.f("for (int h = 0; h < %d; h++) sums[i][h] = fma(u, lp[kk][lx + h * %d], sums[i][h]); }", each, side)
	c.f("barrier(CLK_LOCAL_MEM_FENCE);\n}")
	c.f("for (int i = 0; i < %d; i++) for (int h = 0; h < %d; h++) {", each, each)
	c.f("int r = r0 + ly + i * %d, j = c0 + lx + h * %d; if (r >= m || j >= n) continue;", side, side)
	c.f("float s = sums[i][h]; %s }", finish)
}
