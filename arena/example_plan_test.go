package arena_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/stowage-ml/stowage/arena"
)

func ExampleExplain() {
	p := &arena.Problem{Align: 1, Buffers: []arena.Buffer{
		{Name: "image", Size: 800, Start: 0, End: 2},
		{Name: "mask", Size: 400, Start: 1, End: 3},
	}}
	plan, err := arena.Solve(context.Background(), p, arena.Options{Strategy: arena.Seed})
	if err != nil {
		fmt.Println(err)
		return
	}
	why, err := arena.Explain(p, plan)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(why)
	// Output:
	// arena 1200 B, lower bound 1200 B, proven least; 2 buffers, without reuse 1200 B
	// live at 1: 1200 B in 2 buffers
	//            800 B  66.7 %  at 0              image
	//            400 B  33.3 %  at 800            mask
}

// Two halves are read from JSON and lie back to back.
func ExampleReadJSON() {
	p, err := arena.ReadJSON(strings.NewReader(`{
		"align": 16, "packs": [["left", "right"]],
		"buffers": [
			{"id": "left", "lower": 0, "upper": 2, "size": 24},
			{"id": "right", "lower": 1, "upper": 3, "size": 24}
		]}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	plan, err := arena.Solve(context.Background(), p, arena.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := arena.WriteJSON(os.Stdout, p, plan); err != nil {
		fmt.Println(err)
	}
	// Output:
	// {"buffers": [
	// {"id": "left", "lower": 0, "upper": 2, "size": 24, "offset": 0},
	// {"id": "right", "lower": 1, "upper": 3, "size": 24, "offset": 24}
	// ],
	// "packs": [["left", "right"]], "align": 16}
}

// Two branches: to finish one before the other begins keeps only one wide value live.
func ExampleSchedule() {
	d := &arena.DAG{
		Values: []arena.Value{
			{Name: "x", Size: 10}, {Name: "a wide", Size: 100}, {Name: "b wide", Size: 100},
			{Name: "a", Size: 10}, {Name: "b", Size: 10}, {Name: "y", Size: 10, Keep: true},
		},
		Nodes: []arena.Node{
			{Name: "widen a", Reads: []int{0}, Makes: []int{1}}, {Name: "widen b", Reads: []int{0}, Makes: []int{2}},
			{Name: "narrow a", Reads: []int{1}, Makes: []int{3}}, {Name: "narrow b", Reads: []int{2}, Makes: []int{4}},
			{Name: "add", Reads: []int{3, 4}, Makes: []int{5}},
		},
	}
	o, err := arena.Schedule(context.Background(), d, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(o.Given, o.Peak, o.Proven, o.Nodes)
	fmt.Println(arena.ValidateOrder(d, o))
	// Output:
	// 210 120 true [0 2 1 3 4]
	// <nil>
}
