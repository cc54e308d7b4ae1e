package place_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/stowage-ml/stowage/place"
)

func ExampleSolve() {
	p, err := place.ReadJSON(strings.NewReader(`{
		"devices": ["cpu", "gpu"],
		"nodes": [{"name": "embed", "cost": [10, null]}, {"name": "matmul", "cost": [900, 40]}, {"name": "add", "cost": [30, 5]}],
		"tensors": [{"from": "embed", "to": ["matmul", "add"], "bytes": 100}, {"from": "matmul", "to": ["add"], "bytes": 100},
			{"from": "add", "bytes": 100, "out": true}],
		"latency_ns": [[0, 50], [50, 0]], "ns_per_byte": [[0, 0.5], [0.5, 0]], "exit": "cpu"}`))
	if err != nil {
		log.Fatal(err)
	}
	s, err := place.Solve(context.Background(), p, place.Options{})
	if err != nil {
		log.Fatal(err)
	}
	for v, d := range s.Device {
		fmt.Println(p.Nodes[v].Name, p.Devices[d])
	}
	fmt.Println(s.Cost, "ns, proven:", s.Proven)
	// Output:
	// embed cpu
	// matmul gpu
	// add gpu
	// 255 ns, proven: true
}

func ExampleCarry() {
	const cpu, gpu = 0, 1
	c := place.NewCarry(func(from, to int, bytes int64) int64 {
		if from == to {
			return 0
		}
		return 10 + bytes
	})
	options := []place.Option{{Device: cpu, Cost: 80}, {Device: gpu, Cost: 20}}
	c.Push(1, options, []place.Resident{{Device: cpu, Bytes: 40}}, nil)
	c.Push(2, options, nil, []place.Feed{{Node: 1, Edges: []int64{40}}})
	c.Finish(cpu, func(int) int64 { return 4 })
	for node := 1; node <= 2; node++ {
		d, _ := c.Committed(node)
		fmt.Println(node, d)
	}
	// Output:
	// 1 1
	// 2 1
}
