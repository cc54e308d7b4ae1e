package opencl

import (
	"fmt"
	"math"
	"strings"

	"github.com/stowage-ml/stowage/internal/graph"
	"github.com/stowage-ml/stowage/tensor"
)

// plainUnary are the operators of one float32 that have no attributes; $ stands for the operand.
var plainUnary = map[string]string{
	"Abs": "fabs($)", "Neg": "(-$)", "Sign": "($ > 0.0f ? 1.0f : $ < 0.0f ? -1.0f : $ == 0.0f ? 0.0f : $)",
	"Floor": "floor($)", "Ceil": "ceil($)", "Round": "rint($)", "Sqrt": "sqrt($)", "Exp": "exp($)", "Log": "log($)",
	"Reciprocal": "(1.0f / $)", "Sin": "sin($)", "Cos": "cos($)", "Tan": "tan($)", "Asin": "asin($)", "Acos": "acos($)",
	"Atan": "atan($)", "Sinh": "sinh($)", "Cosh": "cosh($)", "Tanh": "tanh($)", "Asinh": "asinh($)",
	"Acosh": "acosh($)", "Atanh": "atanh($)", "Erf": "erf($)", "Relu": "($ < 0.0f ? 0.0f : $)",
	"Sigmoid": "(1.0f / (1.0f + exp(-$)))", "Softplus": "st_softplus($)", "Softsign": "($ / (1.0f + fabs($)))",
	"HardSwish": "($ * st_max(0.0f, st_min(1.0f, $ / 6.0f + 0.5f)))", "Mish": "($ * tanh(st_softplus($)))",
	"Identity": "$", "Dropout": "$",
}

// slopes are those that have; a and b stand for the attributes of those names and defaults.
var slopes = map[string]struct {
	text     string
	an, bn   string
	adef, bd float32
}{
	"LeakyRelu":       {"($ < 0.0f ? $ * a : $)", "alpha", "", 0.01, 0},
	"HardSigmoid":     {"st_max(0.0f, st_min(1.0f, a * $ + b))", "alpha", "beta", 0.2, 0.5},
	"Elu":             {"($ < 0.0f ? a * expm1($) : $)", "alpha", "", 1, 0},
	"Selu":            {"($ <= 0.0f ? b * a * expm1($) : b * $)", "alpha", "gamma", 1.6732632, 1.050701},
	"Celu":            {"(st_max(0.0f, $) + st_min(0.0f, a * expm1($ / a)))", "alpha", "", 1, 0},
	"Swish":           {"($ / (1.0f + exp(-a * $)))", "alpha", "", 1, 0},
	"ThresholdedRelu": {"($ > a || $ != $ ? $ : 0.0f)", "alpha", "", 1, 0},
	"Shrink":          {"($ < -a ? $ + b : $ > a ? $ - b : $ != $ ? $ : 0.0f)", "lambd", "bias", 0.5, 0},
}

// folds are the operators of any number of float32.
var folds = map[string]string{
	"Add": "($ + %s)", "Sub": "($ - %s)", "Mul": "($ * %s)", "Div": "($ / %s)", "Sum": "($ + %s)", "Mean": "($ + %s)",
	"Max": "st_max($, %s)", "Min": "st_min($, %s)", "PRelu": "($ < 0.0f ? $ * %[1]s : $)",
}

var compares = map[string]string{
	"Equal": "==", "Less": "<", "LessOrEqual": "<=", "Greater": ">", "GreaterOrEqual": ">=",
}

var logic = map[string]string{"And": "&&", "Or": "||", "Xor": "!="}

// term is an expression of one element, of a type that kernels know.
type term struct {
	text  string
	dtype tensor.DType
	// data is the contents when they are known.
	data *tensor.Tensor
}

// express writes a node of elementwise operators as an expression of its inputs, whose texts are
// names or numbers; ok is false when it cannot.
func express(n *graph.Node, in []term) (out term, ok bool) {
	if n.Domain != "" || len(in) == 0 || typeNames[in[0].dtype] == "" {
		return out, false
	}
	switch n.Op {
	case "Where":
		ok = len(in) == 3 && in[0].dtype == tensor.Bool && in[1].dtype == in[2].dtype && typeNames[in[1].dtype] != ""
		if ok {
			out = term{text: fmt.Sprintf("(%s ? %s : %s)", in[0].text, in[1].text, in[2].text), dtype: in[1].dtype}
		}
		return out, ok
	case "Cast":
		return cast(n, in[0])
	case "Not":
		return term{text: "(" + in[0].text + " == 0)", dtype: tensor.Bool}, in[0].dtype == tensor.Bool
	case "IsNaN":
		return term{text: "(" + in[0].text + " != " + in[0].text + ")", dtype: tensor.Bool}, in[0].dtype == tensor.Float32
	}
	if sign := compares[n.Op]; sign != "" && len(in) == 2 && in[0].dtype == in[1].dtype {
		return term{text: fmt.Sprintf("(%s %s %s)", in[0].text, sign, in[1].text), dtype: tensor.Bool}, true
	}
	if sign := logic[n.Op]; sign != "" && len(in) == 2 && in[0].dtype == tensor.Bool {
		return term{text: fmt.Sprintf("((%s != 0) %s (%s != 0))", in[0].text, sign, in[1].text), dtype: tensor.Bool}, true
	}
	if in[0].dtype != tensor.Float32 {
		return out, false
	}
	text, ok := expressFloat(n, in)
	return term{text: text, dtype: tensor.Float32}, ok
}

// expressFloat is express for results of float32, whose first input is one too.
func expressFloat(n *graph.Node, in []term) (text string, ok bool) {
	x := in[0].text
	if t := plainUnary[n.Op]; t != "" {
		return strings.ReplaceAll(t, "$", x), n.Op != "Dropout" || len(in) == 1 || n.Version < 12
	}
	if s, ok := slopes[n.Op]; ok {
		t := strings.ReplaceAll(s.text, "$", "\x00")
		t = replaceWord(t, "a", float(n.Attrs.Float(s.an, s.adef)))
		t = replaceWord(t, "b", float(n.Attrs.Float(s.bn, s.bd)))
		return strings.ReplaceAll(t, "\x00", x), true
	}
	switch n.Op {
	case "Gelu":
		if n.Attrs.Str("approximate", "none") == "tanh" {
			inner := fmt.Sprintf("0.7978845608f * (%[1]s + 0.044715f * %[1]s * %[1]s * %[1]s)", x)
			return fmt.Sprintf("(0.5f * %s * (1.0f + tanh(%s)))", x, inner), true
		}
		return fmt.Sprintf("(0.5f * %[1]s * (1.0f + erf(%[1]s * 0.70710678118f)))", x), true
	case "Clip":
		return clip(n, in)
	case "Pow":
		return power(in)
	}
	t := folds[n.Op]
	if t == "" {
		return "", false
	}
	for _, y := range in[1:] {
		if y.dtype != tensor.Float32 {
			return "", false
		}
		x = fmt.Sprintf(strings.ReplaceAll(t, "$", x), y.text)
	}
	if n.Op == "Mean" {
		x = fmt.Sprintf("(%s / %s)", x, float(float32(len(in))))
	}
	return x, true
}

// replaceWord replaces the letter that stands alone.
func replaceWord(text, letter, by string) string {
	var b strings.Builder
	for i := range len(text) {
		alone := text[i:i+1] == letter && (i == 0 || !wordy(text[i-1])) && (i+1 == len(text) || !wordy(text[i+1]))
		if alone {
			b.WriteString(by)
		} else {
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

func wordy(c byte) bool {
	return c == '_' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}

// clip limits to what inputs or, in old versions, attributes say; the upper limit wins.
func clip(n *graph.Node, in []term) (text string, ok bool) {
	limit := func(i int, name string) string {
		if i < len(in) && in[i].dtype != tensor.Undefined {
			return in[i].text
		}
		if a := n.Attrs.Get(name); a != nil && a.Kind == graph.AttrFloat && !math.IsNaN(float64(a.Float)) {
			return float(a.Float)
		}
		return ""
	}
	x := in[0].text
	if low := limit(1, "min"); low != "" {
		x = fmt.Sprintf("(%[1]s < %[2]s ? %[2]s : %[1]s)", x, low)
	}
	if high := limit(2, "max"); high != "" {
		x = fmt.Sprintf("(%[1]s > %[2]s ? %[2]s : %[1]s)", x, high)
	}
	return x, true
}

// power does whole squares and roots exactly.
func power(in []term) (text string, ok bool) {
	if len(in) != 2 {
		return "", false
	}
	if t := in[1].data; t != nil && t.Len() == 1 {
		if e, ok := number(t); ok {
			switch e {
			case 1:
				return in[0].text, true
			case 2:
				return fmt.Sprintf("(%[1]s * %[1]s)", in[0].text), true
			}
			return fmt.Sprintf("pow(%s, %s)", in[0].text, float(float32(e))), true
		}
	}
	return fmt.Sprintf("pow(%s, %s)", in[0].text, in[1].text), in[1].dtype == tensor.Float32
}

// number is the contents of a tensor of one element.
func number(t *tensor.Tensor) (float64, bool) {
	switch t.DType() {
	case tensor.Float32:
		return float64(tensor.Cast[float32](t.Bytes())[0]), true
	case tensor.Int32:
		return float64(tensor.Cast[int32](t.Bytes())[0]), true
	case tensor.Int64:
		return float64(tensor.Cast[int64](t.Bytes())[0]), true
	}
	return 0, false
}

// cast converts where every value has one result: floats to whole numbers are left out.
func cast(n *graph.Node, x term) (out term, ok bool) {
	to := tensor.DType(n.Attrs.Int("to", 0))
	switch {
	case to == x.dtype:
		return x, true
	case to == tensor.Bool:
		return term{text: "(" + x.text + " != 0)", dtype: to}, true
	case to == tensor.Float32:
		return term{text: "((float)" + x.text + ")", dtype: to}, true
	case x.dtype == tensor.Bool && (to == tensor.Int32 || to == tensor.Int64):
		return term{text: "((" + typeNames[to] + ")(" + x.text + " != 0))", dtype: to}, true
	case x.dtype == tensor.Int32 && to == tensor.Int64:
		return term{text: "((long)" + x.text + ")", dtype: to}, true
	}
	return out, false
}
