package place

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"
)

const contract = `{"devices":["cpu","gpu0"], "nodes":[{"name":"p","cost":[5,1],"bytes":[0,0]},
	{"name":"a","cost":[100,1]}, {"name":"b","cost":[10,null]}],
	"tensors":[{"from":"p","to":["a","b"],"bytes":1048576,"out":false}, {"from":"@cpu","to":["p"],"bytes":4},
	{"from":"a","to":[],"bytes":4e0,"out":true}, {"name":"r","from":"b","bytes":4}, {"view":"r","out":true}],
	"latency_ns":[[0,10],[10,0]], "ns_per_byte":[[0,1],[1,0.5]], "exit":"cpu", "capacity":[null,1000000]}`

func TestJSONIsRead(t *testing.T) {
	got, err := ReadJSON(strings.NewReader(contract))
	if err != nil {
		t.Fatal(err)
	}
	want := &Problem{
		Devices: []string{"cpu", "gpu0"},
		Nodes: []Node{
			{"p", []int64{5, 1}, []int64{0, 0}}, {"a", []int64{100, 1}, nil}, {"b", []int64{10, Cannot}, nil},
		},
		Tensors: []Tensor{
			{From: 0, To: []int{1, 2}, Bytes: 1 << 20}, {From: Fixed, At: 0, To: []int{0}, Bytes: 4},
			{From: 1, Bytes: 4, Out: true}, {Name: "r", From: 2, Bytes: 4}, {From: View, At: 3, Out: true},
		},
		Latency: [][]int64{{0, 10}, {10, 0}}, PerByte: [][]float64{{0, 1}, {1, 0.5}}, Exit: 0,
		Capacity: []int64{Unlimited, 1000000},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got\n%+v\nwant\n%+v", got, want)
	}
	if s := solve(t, got, Auto); s.Cost != 115 || !s.Proven {
		t.Errorf("got %d ns, proven %v, want 115 ns, proven", s.Cost, s.Proven)
	}
}

func TestBadJSONNamesTheField(t *testing.T) {
	for _, c := range []struct {
		old, new, want string
		kind           error
	}{
		{`{"devices"`, `["devices"`, `place: got bad JSON: `, ErrSyntax},
		{contract, `{"devices":["cpu"]`, `place: got an end inside the text, want one object`, ErrSyntax},
		{contract, contract + "{}", `place: got more behind the problem, want one object`, ErrSyntax},
		{contract, `[]`, `place: got array, want an object`, ErrSyntax},
		{`"exit":`, `"exits":`, `place: got bad JSON: unknown field "exits"`, ErrSyntax},
		{`"bytes":1048576`, `"bytes":"many"`, `place: `, ErrSyntax},
		{`"out":false`, `"out":3`, `place: tensors.out: got number, want true or false`, ErrSyntax},
		{`["cpu","gpu0"]`, `["cpu","cpu"]`, `place: devices[1] ("cpu"): got a name that another device has`, ErrName},
		{`["cpu","gpu0"]`, `["cpu",""]`, `place: devices[1]: got no name, want one`, ErrName},
		{`"name":"a"`, `"name":"p"`, `place: nodes[1].name ("p"): got a name that another node has`, ErrName},
		{`"name":"a"`, `"name":"@a"`, `place: nodes[1].name ("@a"): got "@a", want a name that does not start with @`, ErrName},
		{`[5,1]`, `[5,-1]`, `place: nodes[0].cost[1] ("p"): got -1, want at least 0`, ErrCost},
		{`[5,1]`, `[5,1.5]`, `place: nodes[0].cost[1] ("p"): got 1.5, want a whole number below 2^63, at least 0`, ErrCost},
		{`[5,1]`, `[5,1e40]`, `place: nodes[0].cost[1] ("p"): got 1e40, want a whole number below 2^63, at least 0`, ErrCost},
		{`[5,1]`, `[5]`, `place: nodes[0].cost ("p"): got 1 entries, want 2, one for each device`, ErrShape},
		{`[5,1]`, `[null,null]`, `place: nodes[0].cost ("p"): got no device that can run it, want at least one`, ErrNowhere},
		{`"bytes":[0,0]`, `"bytes":[0,-7]`, `place: nodes[0].bytes[1] ("p"): got -7, want at least 0`, ErrBytes},
		{`"bytes":[0,0]`, `"bytes":[0]`, `place: nodes[0].bytes ("p"): got 1 entries, want 2, one for each device`, ErrShape},
		{`"@cpu"`, `"@tpu"`, `place: tensors[1].from ("@tpu"): got no device of that name`, ErrName},
		{`"from":"p"`, `"from":"q"`, `place: tensors[0].from ("q"): got no node of that name`, ErrName},
		{`"from":"p"`, `"form":"p"`, `place: got bad JSON: unknown field "form"`, ErrSyntax},
		{`"from":"p"`, `"view":"r","from":"p"`, `place: tensors[0]: got both or none of "from" and "view", want one`, ErrShape},
		{`["a","b"]`, `["a","c"]`, `place: tensors[0].to[1] ("c"): got no node of that name`, ErrName},
		{`1048576`, `-1`, `place: tensors[0].bytes: got -1, want at least 0`, ErrBytes},
		{`"view":"r"`, `"view":"s"`, `place: tensors[4].view ("s"): got no tensor of that name`, ErrName},
		{`"view":"r"`, `"name":"v","view":"v"`, `place: tensors[4].view ("v"): got a view of itself`, ErrView},
		{`[[0,10],[10,0]]`, `[[0,10]]`, `place: latency_ns: got 1 rows, want 2, one for each device`, ErrShape},
		{`[[0,10],[10,0]]`, `[[0,10],[10]]`, `place: latency_ns[1] ("gpu0"): got 1 entries, want 2`, ErrShape},
		{`[[0,10],[10,0]]`, `[[0,-10],[10,0]]`, `place: latency_ns[0][1]: got -10, want at least 0`, ErrLink},
		{`[[0,10],[10,0]]`, `[[0,null],[10,0]]`, `place: latency_ns[0][1]: got no way from "cpu" to "gpu0", want one, ` +
			`through other devices if need be`, ErrLink},
		{`[[0,1],[1,0.5]]`, `[[0,1],[-0.5,0]]`, `place: ns_per_byte[1][0]: got -0.5 ns, want a number, at least 0 ns`, ErrLink},
		{`[[0,1],[1,0.5]]`, `[[0,1e999],[1,0]]`, `place: ns_per_byte[0][1]: got 1e999 ns, want a number, at least 0 ns`, ErrLink},
		{`[[0,1],[1,0.5]]`, `[]`, `place: ns_per_byte: got 0 rows, want 2, one for each device`, ErrShape},
		{`"exit":"cpu"`, `"exit":"tpu"`, `place: exit ("tpu"): got no device of that name`, ErrName},
		{`[null,1000000]`, `[null]`, `place: capacity: got 1 entries, want 2, one for each device`, ErrShape},
		{`[null,1000000]`, `[-5,1]`, `place: capacity[0]: got -5, want at least 0`, ErrBytes},
		{`["p"]`, `["p"]},{"from":"a","to":["p"]`, `place: nodes[`, ErrCycle},
		{`["cpu","gpu0"]`, `[]`, `place: devices: got none, want at least one`, ErrName},
	} {
		text := strings.Replace(contract, c.old, c.new, 1)
		if c.new == `[]` && c.kind == ErrName {
			text = `{"devices":[]}`
			c.kind = ErrShape
		}
		_, err := ReadJSON(strings.NewReader(text))
		if err == nil || !strings.HasPrefix(err.Error(), c.want) || !errors.Is(err, c.kind) {
			t.Errorf("%s: got %v, want %s, of kind %v", c.new, err, c.want, c.kind)
		}
	}
}

func TestBadProblemsAreErrors(t *testing.T) {
	for _, c := range []struct {
		name string
		set  func(*Problem)
		kind error
	}{
		{"a negative cost", func(p *Problem) { p.Nodes[0].Cost[0] = -2 }, ErrCost},
		{"negative bytes of a node", func(p *Problem) { p.Nodes[0].Bytes = []int64{0, -1} }, ErrBytes},
		{"negative bytes of a tensor", func(p *Problem) { p.Tensors[0].Bytes = -1 }, ErrBytes},
		{"a producer that is not there", func(p *Problem) { p.Tensors[0].From = 3 }, ErrIndex},
		{"a strange origin", func(p *Problem) { p.Tensors[0].From = -3 }, ErrIndex},
		{"a reader that is not there", func(p *Problem) { p.Tensors[0].To[0] = -1 }, ErrIndex},
		{"a residency that is not there", func(p *Problem) { p.Tensors[0].From, p.Tensors[0].At = Fixed, 2 }, ErrIndex},
		{"a view of what is not there", func(p *Problem) { p.Tensors[0].From, p.Tensors[0].At = View, 9 }, ErrIndex},
		{"views in a circle", func(p *Problem) {
			p.Tensors[0].From, p.Tensors[0].At = View, 1
			p.Tensors[1].From, p.Tensors[1].At = View, 0
		}, ErrView},
		{"a node that reads itself", func(p *Problem) { p.Tensors[0].To = []int{0} }, ErrCycle},
		{"an exit that is not there", func(p *Problem) { p.Exit = 2 }, ErrIndex},
		{"a rate that is no number", func(p *Problem) { p.PerByte[0][1] = nan() }, ErrLink},
		{"a latency below none", func(p *Problem) { p.Latency[0][1] = -2 }, ErrLink},
		{"a capacity below none", func(p *Problem) { p.Capacity = []int64{-2, 0} }, ErrBytes},
		{"too many devices", func(p *Problem) { p.Devices = make([]string, 65) }, ErrLimit},
		{"too many devices for relays", func(p *Problem) { p.Devices, p.Relay = make([]string, 9), true }, ErrLimit},
	} {
		p := fanOut()
		c.set(p)
		s, err := Solve(context.Background(), p, Options{})
		var bad *Error
		if s != nil || !errors.Is(err, c.kind) || !errors.As(err, &bad) || bad.Field == "" {
			t.Errorf("%s: got %v, want an error of kind %v that names a field", c.name, err, c.kind)
		}
	}
}

func nan() float64 {
	zero := 0.0
	return zero / zero
}

func TestBadOptionsAreErrors(t *testing.T) {
	_, err := Solve(context.Background(), fanOut(), Options{Strategy: "best"})
	want := `place: strategy: got "best", want one of auto, exact, carry, greedy, priority, single`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if _, err := Solve(context.Background(), fanOut(), Options{Priority: []int{2}}); !errors.Is(err, ErrIndex) {
		t.Errorf("got %v, want %v", err, ErrIndex)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := Solve(ctx, fanOut(), Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
}

func TestPriorityFollowsTheOrderGiven(t *testing.T) {
	for _, c := range []struct {
		order []int
		want  []int
	}{{nil, []int{gpu, gpu, cpu}}, {[]int{cpu}, []int{cpu, cpu, cpu}}} {
		s, err := Solve(context.Background(), fanOut(), Options{Strategy: Priority, Priority: c.order})
		if err != nil || !reflect.DeepEqual(s.Device, c.want) {
			t.Errorf("order %v: got %v, %v, want %v", c.order, s, err, c.want)
		}
	}
}
