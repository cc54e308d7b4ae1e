package arena_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/stowage-ml/stowage/arena"
)

// Three buffers; the first and the last are never live together, and share bytes.
func ExampleSolve() {
	p := &arena.Problem{Align: 64, Buffers: []arena.Buffer{
		{Name: "a", Size: 1024, Start: 0, End: 2},
		{Name: "b", Size: 256, Start: 1, End: 3},
		{Name: "c", Size: 1024, Start: 2, End: 4},
	}}
	plan, err := arena.Solve(context.Background(), p, arena.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(plan.Offsets, plan.Arena, plan.Materialized, plan.Proven)
	fmt.Println(arena.Validate(p, plan))
	// Output:
	// [0 1024 0] 1280 2304 true
	// <nil>
}

// Two results lie side by side in each row of the buffer they are computed from.
func ExampleRowPack() {
	p := &arena.Problem{
		Buffers: []arena.Buffer{
			{Name: "gate|up", Size: 4096, Rows: 8, Start: 0, End: 2},
			{Name: "gate", Size: 2048, Rows: 8, Start: 1, End: 3},
			{Name: "up", Size: 2048, Rows: 8, Start: 1, End: 3},
		},
		RowPacks: []arena.RowPack{{Members: []int{1, 2}, Over: new(0)}},
	}
	plan, err := arena.Solve(context.Background(), p, arena.Options{})
	fmt.Println(plan.Offsets, plan.RowStride, plan.Arena, err)
	// Output: [0 0 256] [512 512 512] 4096 <nil>
}

func ExampleCapacityError() {
	p := &arena.Problem{Align: 1, Capacity: 1000, Buffers: []arena.Buffer{
		{Name: "image", Size: 800, Start: 0, End: 2},
		{Name: "mask", Size: 400, Start: 1, End: 3},
	}}
	_, err := arena.Solve(context.Background(), p, arena.Options{})
	fmt.Println(err)
	fmt.Println(errors.Is(err, arena.ErrCapacity))
	// Output:
	// arena: capacity: got 1000 B, want at least 1200 B; live at 1: image (800 B) mask (400 B)
	// true
}

func ExampleReadCSV() {
	p, err := arena.ReadCSV(strings.NewReader("id,lower,upper,size\nb1,0,3,4\nb2,3,9,4\nb3,0,9,4\n"))
	if err != nil {
		fmt.Println(err)
		return
	}
	p.Align = 1
	plan, err := arena.Solve(context.Background(), p, arena.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := arena.WriteCSV(os.Stdout, p, plan); err != nil {
		fmt.Println(err)
	}
	// Output:
	// id,lower,upper,size,offset
	// b1,0,3,4,0
	// b2,3,9,4,0
	// b3,0,9,4,4
}

// A fused circuit of two groups: sizes come from rows, dims and formats, lifetimes from the groups.
func ExampleCircuit() {
	c := &arena.Circuit{Groups: 2, Edges: []arena.Edge{
		{Name: "x", Rows: "n", Dim: 64, Format: arena.BFloat16, Producer: arena.Outside, Consumers: []int{0}},
		{Name: "y", Rows: "n", Dim: 64, Format: arena.MXFP4, Producer: 0, Consumers: []int{1}},
		{Name: "z", Rows: "n", Dim: 1, Format: arena.Float32, Producer: 1, Output: true},
	}}
	p, _, err := c.Problem(16)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, b := range p.Buffers {
		fmt.Println(b.Name, b.Size, b.Start, b.End)
	}
	// Output:
	// x 2048 0 2
	// y 544 0 2
	// z 64 1 2
}
