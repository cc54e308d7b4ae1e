//go:build !static

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stowage-ml/stowage"
	"github.com/stowage-ml/stowage/internal/testkit"
)

// openclNodes are the cases of the standard that kernels of OpenCL devices run: one or two of each
// kind of kernel.
const openclNodes = `relu sigmoid leakyrelu hardswish gelu_default_1 mish selu clip_example pow add_bcast sub mul_bcast div
	greater and2d matmul_2d matmul_3d gemm_all_attributes gemm_default_vector_bias basic_conv_with_padding
	convtranspose_group_2 convtranspose_pads maxpool_2d_pads maxpool_2d_dilations averagepool_2d_pads
	averagepool_2d_pads_count_include_pad globalaveragepool globalmaxpool reduce_mean_keepdims_example
	reduce_sum_do_not_keepdims_example reduce_l2_keep_dims_example softmax_axis_1 logsoftmax_axis_0
	layer_normalization_4d_axis2 rms_normalization_2d_axis1 instancenorm_example batchnorm_example
	transpose_all_permutations_3 slice_neg expand_dim_changed gather_1
	resize_upsample_scales_linear_align_corners resize_upsample_scales_nearest`

// openclSkipped are cases that are left out, and why.
var openclSkipped = map[string]string{}

func TestOpenCLRunsTheStandardsNodes(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles some forty programs")
	}
	root := filepath.Join(testkit.Data(t), "onnx-node")
	found := false
	for _, d := range stowage.Devices(false) {
		found = found || d.Name == "opencl:0"
	}
	if !found {
		t.Skip(stowage.MissingDevices())
	}
	args := []string{"test", "--devices", "opencl:0"}
	for name := range strings.FieldsSeq(openclNodes) {
		dir := filepath.Join(root, "test_"+name)
		if why := openclSkipped[name]; why != "" {
			t.Logf("%s: left out: %s", name, why)
		} else if _, err := os.Stat(dir); err == nil {
			args = append(args, dir)
		}
	}
	if len(args) == 3 {
		t.Skip("no cases in ", root)
	}
	out := good(t, args...)
	if !strings.Contains(out, " 0 failed, 0 skipped") {
		t.Errorf("got\n%s\nwant no case failed or skipped", out)
	}
}
