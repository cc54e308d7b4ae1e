package onnx

import (
	"fmt"

	"github.com/stowage-ml/stowage/tensor"
)

// dense returns a sparse tensor with its zeros, once however often it is used.
func (im *importer) dense(p *SparseTensor) (*tensor.Tensor, error) {
	if t := im.tensors[p]; t != nil {
		return t, nil
	}
	t, err := im.densify(p)
	if err != nil {
		return nil, fmt.Errorf("sparse tensor %.120q: %w", p.Values.Name, err)
	}
	im.weigh(t)
	im.tensors[p] = t
	return t, nil
}

func (im *importer) densify(p *SparseTensor) (*tensor.Tensor, error) {
	values, err := p.Values.Tensor(im.src)
	if err != nil {
		return nil, fmt.Errorf("values: %w", err)
	}
	indices, err := p.Indices.Tensor(im.src)
	if err != nil {
		return nil, fmt.Errorf("indices: %w", err)
	}
	if len(p.Dims) > tensor.MaxRank {
		return nil, fmt.Errorf("got rank %d, want at most %d", len(p.Dims), tensor.MaxRank)
	}
	shape, dt := tensor.Shape(p.Dims), values.DType()
	n, ok := shape.Elements()
	size, sok := dt.ByteSize(n)
	switch {
	case dt == tensor.String || dt.Bits() < 8:
		return nil, fmt.Errorf("got elements of %v, want whole bytes", dt)
	case !ok || !sok:
		return nil, fmt.Errorf("got dims %v of %v: a negative extent or too many elements", shape, dt)
	}
	flat, err := positions(indices, shape, int64(values.Len()))
	if err != nil {
		return nil, err
	}
	if err := im.spend(size); err != nil {
		return nil, err
	}
	out, err := tensor.Zeros(dt, shape)
	if err != nil {
		return nil, err
	}
	width := int64(dt.Bits() / 8)
	for i, at := range flat {
		copy(out.Bytes()[at*width:(at+1)*width], values.Bytes()[int64(i)*width:])
	}
	return out, nil
}

// positions returns the flat position of each of nnz values.
func positions(indices *tensor.Tensor, shape tensor.Shape, nnz int64) ([]int64, error) {
	is := indices.Shape()
	n, _ := shape.Elements()
	rank := int64(len(shape))
	ix, err := tensor.Data[int64](indices)
	switch {
	case err != nil:
		return nil, fmt.Errorf("indices: got %v, want int64", indices)
	case is.Equal(tensor.Shape{nnz}):
		for i, at := range ix {
			if at < 0 || at >= n {
				return nil, fmt.Errorf("index %d: got %d, want 0 to %d", i, at, n-1)
			}
		}
		return ix, nil
	case !is.Equal(tensor.Shape{nnz, rank}):
		return nil, fmt.Errorf("indices: got shape %v, want [%d] or [%d,%d]", is, nnz, nnz, rank)
	}
	flat := make([]int64, nnz)
	for i := range flat {
		for d, extent := range shape {
			at := ix[int64(i)*rank+int64(d)]
			if at < 0 || at >= extent {
				return nil, fmt.Errorf("index %d: got %d in dim %d, want 0 to %d", i, at, d, extent-1)
			}
			flat[i] = flat[i]*extent + at
		}
	}
	return flat, nil
}
