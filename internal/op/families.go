package op

// families lists the files of the table. Adding an operator adds a row to one of them; adding a
// family adds a line here.
var families = [][]Row{
	unaryRows,
	randomRows,
	binaryRows,
	castRows,
	shapeRows,
	moveRows,
	indexRows,
	resizeRows,
	convRows,
	poolRows,
	matmulRows,
	normRows,
	reduceRows,
	recurrentRows,
	quantRows,
	lossRows,
	signalRows,
	attentionRows,
	controlRows,
}
