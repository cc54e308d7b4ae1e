package main

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// modelFile is the name of the model in ONNX's test layout.
	modelFile = "model.onnx"
	// setPrefix is how the names of its folders of data start.
	setPrefix = "test_data_set_"
	// maxDepth is how many folders deep models are looked for.
	maxDepth = 8
)

// findCases lists the folders at or below the given ones that hold a model, each once, in lexical
// order below each. A given folder without any is an error.
func findCases(dirs []string) ([]string, error) {
	var out []string
	for _, dir := range dirs {
		found, err := modelDirs(filepath.Clean(dir), maxDepth)
		if err != nil {
			return nil, fmt.Errorf("test: %w", err)
		}
		if len(found) == 0 {
			return nil, fmt.Errorf("test: folder %q: got no %s at or below it, want one", dir, modelFile)
		}
		out = append(out, found...)
	}
	seen := map[string]bool{}
	return slices.DeleteFunc(out, func(dir string) bool {
		again := seen[dir]
		seen[dir] = true
		return again
	}), nil
}

func modelDirs(dir string, depth int) ([]string, error) {
	if _, err := os.Stat(filepath.Join(dir, modelFile)); err == nil {
		return []string{dir}, nil
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		if !entry.IsDir() || depth == 0 {
			continue
		}
		found, err := modelDirs(filepath.Join(dir, entry.Name()), depth-1)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// numbered lists the entries of a folder with names of the form prefix, anything, suffix, in
// order of the number that ends the name.
func numbered(dir, prefix, suffix string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, entry := range entries {
		if name := entry.Name(); strings.HasPrefix(name, prefix) && strings.HasSuffix(name, suffix) {
			out = append(out, filepath.Join(dir, name))
		}
	}
	slices.SortFunc(out, func(a, b string) int {
		return cmp.Or(cmp.Compare(number(a), number(b)), cmp.Compare(a, b))
	})
	return out, nil
}

// number returns the number at the end of a file's or folder's name, before the extension; −1
// when there is none.
func number(path string) int {
	base := filepath.Base(path)
	base = strings.TrimSuffix(base, filepath.Ext(base))
	n, err := strconv.Atoi(base[strings.LastIndexByte(base, '_')+1:])
	if err != nil || n < 0 {
		return -1
	}
	return n
}
