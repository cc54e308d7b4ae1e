package stowage

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stowage-ml/stowage/internal/backend"
	"github.com/stowage-ml/stowage/internal/backend/ref"
	"github.com/stowage-ml/stowage/internal/conform"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// net is a random convolutional model on images of a few pixels, with concatenations and splits of
// channels in each other.
type net struct {
	r     *rand.Rand
	m     *testkit.Model
	batch int64
	// names and channels are of values of shape [batch, channels, 3, 3].
	names    []string
	channels []int64
}

func newNet(seed uint64) *net {
	n := &net{r: rand.New(rand.NewPCG(seed, 11)), m: testkit.NewModel(18), batch: 2}
	n.batch += n.r.Int64N(3)
	for i := range 2 {
		c := 1 + n.r.Int64N(4)
		name := fmt.Sprintf("in%d", i)
		n.m.Input(name, tensor.Float32, n.batch, c, 3, 3)
		n.names, n.channels = append(n.names, name), append(n.channels, c)
	}
	for range 4 + n.r.IntN(16) {
		n.grow()
	}
	for range 1 + n.r.IntN(3) {
		i := len(n.names) - 1 - n.r.IntN(min(4, len(n.names)-2))
		out := n.m.Node("Identity", []string{n.names[i]})
		n.m.Output(out, tensor.Float32, n.batch, n.channels[i], 3, 3)
	}
	return n
}

func (n *net) pick() int {
	// Mostly recent values, so that chains grow.
	return len(n.names) - 1 - int(float64(len(n.names))*n.r.Float64()*n.r.Float64())
}

func (n *net) add(name string, channels int64) {
	n.names, n.channels = append(n.names, name), append(n.channels, channels)
}

func (n *net) grow() {
	i := n.pick()
	x, c := n.names[i], n.channels[i]
	switch n.r.IntN(9) {
	case 0:
		n.add(n.m.Node([]string{"Relu", "Sigmoid", "Neg"}[n.r.IntN(3)], []string{x}), c)
	case 1, 2:
		out := 1 + n.r.Int64N(4)
		w := fmt.Sprintf("w%d", len(n.names))
		n.m.Init(w, n.random(out, c, 3, 3))
		n.add(n.m.Node("Conv", []string{x, w}, testkit.Ints("pads", 1, 1, 1, 1)), out)
	case 3:
		n.add(n.m.Node("MaxPool", []string{x}, testkit.Ints("kernel_shape", 3, 3), testkit.Ints("pads", 1, 1, 1, 1)), c)
	case 4:
		if c%2 == 0 {
			a, b := fmt.Sprintf("l%d", len(n.names)), fmt.Sprintf("r%d", len(n.names))
			n.m.Node("Split", []string{x}, testkit.Outs(a, b), testkit.Int("axis", 1), testkit.Int("num_outputs", 2))
			n.add(a, c/2)
			n.add(b, c/2)
		}
	case 5:
		for j, d := range n.channels {
			if d == c && j != i {
				n.add(n.m.Node("Add", []string{x, n.names[j]}), c)
				return
			}
		}
	default:
		in, sum := []string{x}, c
		for range 1 + n.r.IntN(2) {
			j := n.pick()
			in, sum = append(in, n.names[j]), sum+n.channels[j]
		}
		if sum <= 24 {
			n.add(n.m.Node("Concat", in, testkit.Int("axis", []int64{1, -3}[n.r.IntN(2)])), sum)
		}
	}
}

func (n *net) random(shape ...int64) *tensor.Tensor {
	s := tensor.Shape(shape)
	k, _ := s.Elements()
	data := make([]float32, k)
	for i := range data {
		data[i] = float32(n.r.NormFloat64())
	}
	return tensor.Must(s, data)
}

// TestPartsInRowsEqualInterpreter runs such models with kernels that run row by row wherever that
// saves a concatenation or a split, in rows and in blocks, in poisoned memory. Every bit must
// agree with the interpreter.
func TestPartsInRowsEqualInterpreter(t *testing.T) {
	plain := kernelSet
	defer func() { kernelSet = plain }()
	byRow := 0
	for seed := range uint64(400) {
		kernelSet = func(string, []string) (backend.Backend, error) {
			return conform.Blocks{Backend: ref.Backend{}, Block: backend.Layout(1 + seed%4), Seed: 2 * seed}, nil
		}
		n := newNet(seed)
		model, err := LoadBytes(n.m.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		s, err := model.Open(&Options{NoFuse: rounding})
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		lane := <-s.lanes
		lane.Poison = true
		s.lanes <- lane
		in, named := make([]*tensor.Tensor, 2), map[string]*tensor.Tensor{}
		for i := range in {
			in[i] = n.random(n.batch, n.channels[i], 3, 3)
			named[n.names[i]] = in[i]
		}
		want, err := interpret(model, in)
		if err != nil {
			t.Fatal(err)
		}
		got, err := s.Run(context.Background(), named)
		if err != nil {
			t.Fatalf("seed %d: %v", seed, err)
		}
		for i, o := range model.outputs {
			if !conform.Same(got[o.Name], want[i]) {
				t.Errorf("seed %d: output %q differs", seed, o.Name)
			}
		}
		p, err := s.Plan(nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range p.Steps {
			if x.Rows > 0 {
				byRow++
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
		if err := model.Close(); err != nil {
			t.Error(err)
		}
	}
	if byRow < 400 {
		t.Errorf("got %d steps by rows, want one for each model or more", byRow)
	}
	t.Logf("%d steps by rows", byRow)
}
