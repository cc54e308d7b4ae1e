package main

import (
	"runtime"
	"runtime/debug"
)

// versionVerb says which build this is.
type versionVerb struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// versionReport is the JSON of version.
type versionReport struct {
	// Version is the module's, or "(devel)" for a build from a working tree.
	Version string `json:"version"`
	// Revision is the commit, when the build knows it; Modified says that the tree had changes.
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
}

// Run prints one line.
func (v *versionVerb) Run(e *env) error {
	r := versionReport{Version: "(unknown)", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if info.Main.Version != "" {
			r.Version = info.Main.Version
		}
		for _, s := range info.Settings {
			switch s.Key {
			case "vcs.revision":
				r.Revision = s.Value
			case "vcs.modified":
				r.Modified = s.Value == "true"
			}
		}
	}
	if v.JSON {
		return e.json(r)
	}
	e.printf("stowage %s %s %s/%s\n", r.Version, r.Go, r.OS, r.Arch)
	return nil
}
