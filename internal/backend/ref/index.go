package ref

var indexKernels = []entry{
	{op: "Gather", types: []types{anything, indices}, make: makeGather},
	{op: "GatherElements", types: []types{anything, indices}, make: makeGatherElements},
	{op: "GatherND", types: []types{anything, indices}, make: makeGatherND},
}
