package stowage_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
	"github.com/stowage-ml/stowage/tensor"
)

// scorer is a model that an exporter might have written: one linear layer and a softmax, over
// any number of rows.
func scorer() []byte {
	m := testkit.NewModel(17)
	m.Input("features", tensor.Float32, "rows", 2)
	m.Init("w", tensor.Must(tensor.Shape{2, 3}, []float32{1, 0, -1, 0, 2, 1}))
	x := m.Node("MatMul", []string{"features", "w"})
	m.Node("Softmax", []string{x}, testkit.Int("axis", -1), testkit.Outs("scores"))
	m.Output("scores", tensor.Float32, "rows", 3)
	return m.Bytes()
}

func Example() {
	model, err := stowage.LoadBytes(scorer())
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.Open(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	features, err := tensor.New(tensor.Shape{2, 2}, []float32{1, 0, 0, 1})
	if err != nil {
		log.Fatal(err)
	}
	out, err := session.Run(context.Background(), map[string]*tensor.Tensor{"features": features})
	if err != nil {
		log.Fatal(err)
	}
	scores, err := tensor.Data[float32](out["scores"])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(out["scores"])
	fmt.Printf("%.3f\n", scores)
	// Output:
	// float32[2,3]
	// [0.665 0.245 0.090 0.090 0.665 0.245]
}

// A model says what it wants, what it gives and whether it can run before anything is planned.
func ExampleModel_Inputs() {
	model, err := stowage.Load("cmd/stowage/demodata/demo.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	for _, in := range model.Inputs() {
		fmt.Println("in ", in.Name, in)
	}
	for _, out := range model.Outputs() {
		fmt.Println("out", out.Name, out)
	}
	fmt.Println("free dims", model.FreeDims(), "unsupported", len(model.Unsupported()))
	// Output:
	// in  picture float32[1,3,height,width]
	// out edges float32[1,3,height,width]
	// out half float32[1,3,height/2,width/2]
	// out quarter float32[1,3,(height/2)/2,(width/2)/2]
	// out eighth float32[1,3,((height/2)/2)/2,((width/2)/2)/2]
	// out corners int64[found,2]
	// free dims [height width] unsupported 0
}

// With every free dim bounded, the arena is sized once, at Open.
func ExampleOptions() {
	model, err := stowage.Load("cmd/stowage/demodata/demo.onnx")
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.Open(&stowage.Options{
		Max:         map[string]int64{"height": 320, "width": 480},
		Concurrency: 2,
	})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()
	for _, height := range []int64{320, 64} {
		plan, err := session.Plan(map[string]int64{"height": height})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(height, "rows: reserved", session.Memory().ArenaBytes == 2*plan.Devices[0].ArenaBytes)
	}
	// Output:
	// 320 rows: reserved true
	// 64 rows: reserved true
}

// A binding runs over memory that the caller owns, again and again, without allocating.
func ExampleSession_Bind() {
	model, err := stowage.LoadBytes(scorer())
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	session, err := model.Open(&stowage.Options{Fix: map[string]int64{"rows": 1}})
	if err != nil {
		log.Fatal(err)
	}
	defer session.Close()

	features, scores := make([]float32, 2), make([]float32, 3)
	in := map[string]*tensor.Tensor{"features": tensor.Must(tensor.Shape{1, 2}, features)}
	out := map[string]*tensor.Tensor{"scores": tensor.Must(tensor.Shape{1, 3}, scores)}
	binding, err := session.Bind(in, out)
	if err != nil {
		log.Fatal(err)
	}
	for i := range 2 {
		features[i] = 1
		if err := binding.Run(context.Background()); err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%.3f\n", scores)
	}
	// Output:
	// [0.665 0.245 0.090]
	// [0.245 0.665 0.090]
}

// What one session has decided, another one follows, on this machine or on one like it.
func ExampleSession_SavePlans() {
	model, err := stowage.LoadBytes(scorer())
	if err != nil {
		log.Fatal(err)
	}
	defer model.Close()
	options := stowage.Options{Fix: map[string]int64{"rows": 1}, Threads: 1}
	first, err := model.Open(&options)
	if err != nil {
		log.Fatal(err)
	}
	defer first.Close()
	var file bytes.Buffer
	if err := first.SavePlans(&file); err != nil {
		log.Fatal(err)
	}

	options.Plan = file.Bytes()
	second, err := model.Open(&options)
	if err != nil {
		log.Fatal(err)
	}
	defer second.Close()
	plan, err := second.Plan(nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(plan.Steps[0].Reason)

	options.NoFuse = []string{"all"}
	_, err = model.Open(&options)
	fmt.Println(errors.Is(err, stowage.ErrPlanChanged))
	// Output:
	// as saved
	// true
}
