package conform

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sort"

	"github.com/stowage-ml/stowage/internal/onnx"
	"github.com/stowage-ml/stowage/tensor"
)

// Models returns the folders below dir that hold a model.onnx, in order of name.
func Models(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*", "model.onnx"))
	if err != nil {
		return nil, err
	}
	out := make([]string, len(files))
	for i, f := range files {
		out[i] = filepath.Dir(f)
	}
	sort.Strings(out)
	return out, nil
}

// Inputs reads every test_data_set_N folder of a model: its inputs, in order.
func Inputs(model string) ([][]*tensor.Tensor, error) {
	dirs, err := filepath.Glob(filepath.Join(model, "test_data_set_*"))
	if err != nil {
		return nil, err
	}
	sort.Strings(dirs)
	out := make([][]*tensor.Tensor, len(dirs))
	for i, set := range dirs {
		for k := 0; ; k++ {
			b, err := os.ReadFile(filepath.Join(set, fmt.Sprintf("input_%d.pb", k)))
			if os.IsNotExist(err) {
				break
			}
			if err != nil {
				return nil, err
			}
			_, t, err := onnx.DecodeTensor(b)
			if err != nil {
				return nil, err
			}
			out[i] = append(out[i], t)
		}
	}
	return out, nil
}

// Same reports whether two tensors have the same type, shape and bits.
func Same(a, b *tensor.Tensor) bool {
	if a.DType() != b.DType() || !a.Shape().Equal(b.Shape()) {
		return false
	}
	if a.DType() == tensor.String {
		return fmt.Sprintf("%q", a.Strings()) == fmt.Sprintf("%q", b.Strings())
	}
	return bytes.Equal(a.Bytes(), b.Bytes())
}
