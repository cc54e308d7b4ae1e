package lint

import (
	"fmt"
	"path"
	"regexp"
	"strings"
)

var (
	link = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	code = regexp.MustCompile("`[^`]*`")
)

// checkLinks looks for links in the documents to files that are not in the repository.
func checkLinks(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Texts {
		if !strings.HasSuffix(f.Path, ".md") {
			continue
		}
		for i, l := range prose(f.Lines) {
			for _, m := range link.FindAllStringSubmatch(l, -1) {
				target, _, _ := strings.Cut(m[1], "#")
				if target == "" || strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
					continue
				}
				if to := path.Join(path.Dir(f.Path), target); !t.Has(to) {
					out = append(out, Finding{Path: f.Path, Line: i + 1, Name: target, Got: "a link to " + to + ", which is not there",
						Want: "a file of the repository"})
				}
			}
		}
	}
	return out
}

// prose returns the lines with code left out: empty inside of fences, and without code spans.
func prose(lines []string) []string {
	out := make([]string, len(lines))
	for i, l := range lines {
		out[i] = code.ReplaceAllString(l, "")
	}
	for _, b := range Blocks(lines) {
		for i := range b.Lines {
			out[b.Line-1+i] = ""
		}
	}
	return out
}

// Block is one fenced block of a document.
type Block struct {
	// Lang is the word behind the fence. Line is that of the first line inside, from 1.
	Lang  string
	Line  int
	Lines []string
}

// Blocks returns the fenced blocks of a document, in order.
func Blocks(lines []string) []Block {
	var out []Block
	open := false
	for i, l := range lines {
		switch lang, fence := strings.CutPrefix(l, "```"); {
		case fence && !open:
			open = true
			out = append(out, Block{Lang: strings.TrimSpace(lang), Line: i + 2})
		case fence:
			open = false
		case open:
			b := &out[len(out)-1]
			b.Lines = append(b.Lines, l)
		}
	}
	return out
}

// checkCommands looks in the documents' shell blocks for targets that the Makefile lacks, for
// folders to build that are not there, and for verbs without a file in cmd/stowage.
func checkCommands(t *Tree) []Finding {
	var out []Finding
	for _, f := range t.Texts {
		if !strings.HasSuffix(f.Path, ".md") {
			continue
		}
		for _, b := range Blocks(f.Lines) {
			if b.Lang != "sh" {
				continue
			}
			for i, l := range b.Lines {
				if want := t.missing(strings.Fields(l)); want != "" {
					out = append(out, Finding{Path: f.Path, Line: b.Line + i, Got: fmt.Sprintf("%q", l), Want: want})
				}
			}
		}
	}
	return out
}

// missing returns what the tree would need for a command to work; "" when all is there.
func (t *Tree) missing(words []string) string {
	for i, w := range words[:max(0, len(words)-1)] {
		next := words[i+1]
		switch {
		case w == "#":
			return ""
		case w == "make" && i == 0 && !t.hasTarget(next):
			return "a target of the Makefile"
		case strings.HasPrefix(w, "./") && !strings.Contains(w, "...") && !t.Has(path.Clean(w)) && w != "./stowage":
			return "a folder of the repository"
		case isStowage(words, i) && !t.hasVerb(next):
			return "a verb of cmd/stowage"
		}
	}
	return ""
}

// isStowage reports whether word i runs the command, so that the next word is a verb.
func isStowage(words []string, i int) bool {
	switch words[i] {
	case "stowage", "./stowage":
		return i == 0
	case "./cmd/stowage":
		return i >= 2 && words[i-1] == "run"
	}
	return false
}

func (t *Tree) hasVerb(verb string) bool { return t.Has("cmd/stowage/" + verb + ".go") }

func (t *Tree) hasTarget(target string) bool {
	for _, l := range t.Text("Makefile") {
		if strings.HasPrefix(l, target+":") {
			return true
		}
	}
	return false
}
