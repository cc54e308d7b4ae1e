package ref

var recurrentKernels = []entry{}
