package arena

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"testing"
)

func TestZY(t *testing.T) {
	name := os.Getenv("ONLY")
	target, _ := strconv.ParseInt(os.Getenv("TARGET"), 10, 64)
	budget, _ := strconv.ParseInt(os.Getenv("NODES"), 10, 64)
	rounds, _ := strconv.Atoi(os.Getenv("ROUNDS"))
	p := readFile(t, "../../../shared/arena/"+name+".1048576.csv")
	m, _ := newModel(p)
	bd, _ := m.bounds()
	tk := m.task(&m.pools[0], bd[0].Bytes, 0)
	parts := apart(tk.boxes)
	for pi := range parts {
		ans := answer{offsets: make([]int64, len(tk.boxes))}
		s := tk.seeker(context.Background(), parts[pi], &ans)
		pt := newPart[int32](s.boxes, 0, 1024, 1)
		b := newBranch(context.Background(), pt)
		for r := range max(rounds,1) {
			tot, solved := 0.0, 0
			for i := range runners {
				b.way = runners[i].way
				b.line(runners[i].taste, r, i)
				b.reset(target * 1024)
				b.budget = budget
				c := cpu()
				ok := b.search(0, int32(len(b.total)))
				d := cpu() - c
				tot += d
				if ok {
					solved++
				}
				if r == 0 {
					fmt.Printf("%s part %d %-14s %v %v nodes %d cpu %.3f\n", name, pi, runners[i].name, ok, b.stopped, b.nodes, d)
				}
			}
			fmt.Printf("%s part %d round %d solved %d cpu %.3f\n", name, pi, r, solved, tot)
		}
	}
}
