package op

import (
	"slices"

	"github.com/stowage-ml/stowage/internal/graph"
)

var lossRows = []Row{
	{Op: "NegativeLogLikelihoodLoss", In: Arity{2, 3}, Out: Arity{1, 1}, Infer: inferLoss, Work: workOfOutput(2)},
	{Op: "SoftmaxCrossEntropyLoss", In: Arity{2, 3}, Out: Arity{1, 2}, Infer: inferLoss, Work: workOfInput(20)},
}

// inferLoss sets the loss, one number for each target or one in all, and the log-probabilities.
func inferLoss(c *Ctx) error {
	scores, target := c.Arg(0), c.Arg(1)
	c.Set(0, scores.DType, nil)
	c.Set(1, scores.DType, scores.Shape)
	if _, err := c.oneType(0, 2); err != nil {
		return err
	}
	if s := scores.Shape; !s.Unranked() {
		if len(s) < 2 {
			return c.Errf("input: got shape %v, want at least 2 dimensions", s)
		}
		if t := target.Shape; !t.Unranked() && len(t) != len(s)-1 {
			return c.Errf("target: got shape %v, want that of the input %v without dimension 1", t, s)
		}
		if err := c.wantRank(2, "weight", 1); err != nil {
			return err
		}
	}
	switch r := c.Node.Attrs.Str("reduction", "mean"); r {
	case "none":
		s := target.Shape
		if s.Unranked() && !scores.Shape.Unranked() {
			s = slices.Concat(graph.Shape{}, scores.Shape[:1], scores.Shape[2:])
		}
		c.Set(0, scores.DType, s)
	case "sum", "mean":
		c.Set(0, scores.DType, graph.Shape{})
	default:
		return c.Errf("reduction: got %q, want none, sum or mean", r)
	}
	return nil
}
