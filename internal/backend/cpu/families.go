package cpu

// families lists the subpackages' kernels by operator. Adding a family adds a line here.
var families = map[key][]Family{}
