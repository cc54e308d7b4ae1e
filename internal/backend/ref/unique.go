package ref

import (
	"cmp"
	"slices"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/tensor"
)

// comparing has, for each type, the order of elements i and j; false comes before true.
var comparing = perType[func(v *backend.View, i, j int) int]{
	F32: compareAt[float32], F64: compareAt[float64], I8: compareAt[int8], I16: compareAt[int16],
	I32: compareAt[int32], I64: compareAt[int64], U8: compareAt[uint8], U16: compareAt[uint16],
	U32: compareAt[uint32], U64: compareAt[uint64], Bool: compareAt[uint8], String: compareAt[string],
	F16: compareHalves[tensor.Half], BF16: compareHalves[tensor.Brain],
}

func compareAt[T interface {
	tensor.Element
	cmp.Ordered
}](v *backend.View, i, j int) int {
	x := elems[T](v)
	return ascending(x[i], x[j])
}

func compareHalves[T interface {
	tensor.Element
	halfFloat
}](v *backend.View, i, j int) int {
	x := tensor.Cast[T](v.Data)
	return ascending(x[i].Float32(), x[j].Float32())
}

// unique is a prepared Unique: the n members along the axis are compared, each of outer·inner
// elements in row-major order.
type unique struct {
	band
	shape   tensor.Shape
	axis    int
	sorted  bool
	compare func(v *backend.View, i, j int) int
}

func makeUnique(o *backend.Op) (prepared, error) {
	shape := o.In[0].Shape
	u := unique{band: band{1, count(shape), 1}, shape: shape, axis: -1,
		sorted: o.Node.Attrs.Int("sorted", 1) != 0, compare: comparing.of(o.In[0].DType)}
	if o.Node.Attrs.Get("axis") != nil {
		axis, err := axisOf(o, "axis", 0)
		if err != nil {
			return prepared{}, err
		}
		u.axis, u.band = axis, bandOf(shape, axis)
	}
	return run(func(c *backend.Call) error {
		groups := u.groups(&c.In[0])
		inverse, counts, firsts := make([]int64, u.n), make([]int64, len(groups)), make([]int64, len(groups))
		for g, members := range groups {
			firsts[g], counts[g] = int64(members[0]), int64(len(members))
			for _, m := range members {
				inverse[m] = int64(g)
			}
		}
		for i, list := range [][]int64{nil, firsts, inverse, counts} {
			if i == 0 || !wants(o.Node, i) {
				continue
			}
			if o.Out[i].Shape == nil {
				if err := c.Place(i, tensor.Shape{int64(len(list))}); err != nil {
					return err
				}
			}
			copy(tensor.Cast[int64](c.Out[i].Data), list)
		}
		if !wants(o.Node, 0) {
			return nil
		}
		return u.values(c, firsts)
	})
}

// groups returns the places of equal members, in the order of the result; the places in each
// group ascend.
func (u *unique) groups(v *backend.View) [][]int {
	order := make([]int, u.n)
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return u.members(v, a, b) })
	var groups [][]int
	for i := 0; i < len(order); {
		j := i + 1
		for j < len(order) && u.members(v, order[i], order[j]) == 0 {
			j++
		}
		groups = append(groups, order[i:j])
		i = j
	}
	if !u.sorted {
		slices.SortFunc(groups, func(a, b []int) int { return a[0] - b[0] })
	}
	return groups
}

// members compares two members, element by element.
func (u *unique) members(v *backend.View, a, b int) int {
	for i := range u.outer {
		for j := range u.inner {
			if c := u.compare(v, (i*u.n+a)*u.inner+j, (i*u.n+b)*u.inner+j); c != 0 {
				return c
			}
		}
	}
	return 0
}

// values copies the first member of each group to the first output.
func (u *unique) values(c *backend.Call, firsts []int64) error {
	shape := tensor.Shape{int64(len(firsts))}
	if u.axis >= 0 {
		shape = u.shape.Clone()
		shape[u.axis] = int64(len(firsts))
	}
	if err := c.Place(0, shape); err != nil {
		return err
	}
	width := widthOf(c.In[0].DType)
	for i := range u.outer {
		for g, first := range firsts {
			blit(&c.Out[0], (i*len(firsts)+g)*u.inner, &c.In[0], (i*u.n+int(first))*u.inner, u.inner, width)
		}
	}
	return nil
}
