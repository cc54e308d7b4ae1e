package main

// fuseFlags switch off rules that join nodes.
type fuseFlags struct {
	NoFuse []string `placeholder:"RULE,…" help:"Rules not used to join nodes into larger ones; all for every rule."`
}
