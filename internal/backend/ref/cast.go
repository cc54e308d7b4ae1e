package ref

var castKernels = []entry{}
