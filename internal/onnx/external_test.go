package onnx

import (
	"bytes"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

// outside is a model whose one weight of three floats lies in another file; a blank entry is
// left out.
func outside(location, offset, length string) pb {
	t := pb{}.int(1, 3).int(2, 1).str(8, "w").int(14, 1)
	for _, e := range [][2]string{{"location", location}, {"offset", offset}, {"length", length}} {
		if e[1] != "" {
			t = t.msg(13, pb{}.str(1, e[0]).str(2, e[1]))
		}
	}
	return model(graphOf(pb{}.msg(5, t), in("x", 3), out("y"), node("Add", "a", "x w", "y")))
}

// folder makes a folder "m" for a model beside a file that is none of its business.
func folder(t *testing.T) (top string) {
	top = t.TempDir()
	write := func(name string, b []byte) {
		name = filepath.Join(top, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("secret.bin", f32s(9, 9, 9))
	write("m/w.bin", f32s(0, 1, 2, 3))
	write("m/odd.bin", append([]byte{0}, f32s(1, 2, 3)...))
	write("m/sub/w.bin", f32s(1, 2, 3))
	write("m/x./w.bin", f32s(1, 2, 3))
	write("m/empty.bin", nil)
	return top
}

func TestExternalDataIsFound(t *testing.T) {
	top := folder(t)
	if err := os.Symlink("../odd.bin", filepath.Join(top, "m", "sub", "link.bin")); err != nil {
		t.Logf("no symbolic links here: %v", err)
	}
	tests := []struct{ name, location, offset, length string }{
		{"offset and length", "w.bin", "4", "12"},
		{"no length", "w.bin", "4", ""},
		{"no offset", "sub/w.bin", "", "12"},
		{"odd offset", "odd.bin", "1", "12"},
		{"dot", "./sub/./w.bin", "", ""},
		{"folder that ends in a dot", "x./w.bin", "", ""},
		{"link inside", "sub/link.bin", "1", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, open := range opens(t, top, outside(tt.location, tt.offset, tt.length)) {
				f, err := open()
				if err != nil {
					t.Fatal(err)
				}
				im, err := f.Import()
				if err != nil {
					if strings.Contains(tt.name, "link") && runtime.GOOS == "windows" {
						continue
					}
					t.Fatalf("%s: %v", how, err)
				}
				if got := im.Graph.Values[1].Const.Bytes(); !bytes.Equal(got, f32s(1, 2, 3)) || im.WeightBytes != 12 {
					t.Errorf("%s: got %x of %d bytes, want 1, 2, 3", how, got, im.WeightBytes)
				}
				if err := f.Close(); err != nil {
					t.Errorf("%s: %v", how, err)
				}
			}
		})
	}
}

// opens writes the model to the folder and returns the ways to open it there.
func opens(t *testing.T, top string, b pb) map[string]func() (*File, error) {
	name := filepath.Join(top, "m", "model.onnx")
	if err := os.WriteFile(name, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return map[string]func() (*File, error){
		"mapped": func() (*File, error) { return Open(name) },
		"fs":     func() (*File, error) { return OpenFS(os.DirFS(top), "m/model.onnx") },
		"at top": func() (*File, error) { return OpenFS(os.DirFS(filepath.Dir(name)), "model.onnx") },
	}
}

func TestExternalDataStaysInItsFolder(t *testing.T) {
	top := folder(t)
	links := map[string]string{
		"out.bin": "../secret.bin", "abs.bin": filepath.Join(top, "secret.bin"), "up": "..", "loop": "loop",
		"sub/twice": "../up", "back.bin": "../m/w.bin",
	}
	for name, target := range links {
		if err := os.Symlink(target, filepath.Join(top, "m", name)); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	refused := `got a path that is absolute or contains ".."`
	tests := []struct{ name, location, offset, length, want string }{
		{"parent", "../secret.bin", "", "", refused},
		{"parent inside", "sub/../w.bin", "", "", refused},
		{"parent at the end", "sub/..", "", "", refused},
		{"absolute", filepath.Join(top, "secret.bin"), "", "", refused},
		{"empty", "", "", "", "got no location"},
		{"slash", "/", "", "", refused},
		{"link out", "out.bin", "", "", ""},
		{"absolute link", "abs.bin", "", "", ""},
		{"link out and back", "back.bin", "", "", ""},
		{"linked folder", "up/secret.bin", "", "", ""},
		{"link to a link", "sub/twice/secret.bin", "", "", ""},
		{"link to itself", "loop", "", "", ""},
		{"folder", "sub", "", "", "not a plain file"},
		{"the folder itself", ".", "", "", "not a plain file"},
		{"missing", "none.bin", "", "", "none.bin"},
		{"NUL", "w.bin\x00", "", "", ""},
		{"offset beyond the end", "w.bin", "5", "12", "got a file of 16 bytes, want 12 bytes from 5 on"},
		{"offset far beyond", "w.bin", "9223372036854775807", "12", "want 12 bytes from 9223372036854775807 on"},
		{"offset too large", "w.bin", "9223372036854775808", "12", `offset: got "9223372036854775808"`},
		{"negative offset", "w.bin", "-4", "12", `offset: got "-4"`},
		{"offset in words", "w.bin", "four", "12", `offset: got "four"`},
		{"negative length", "w.bin", "0", "-12", `length: got "-12"`},
		{"length too small", "w.bin", "0", "8", "got a length of 8 bytes, want 12"},
		{"length too large", "w.bin", "0", "16", "got a length of 16 bytes, want 12"},
		{"empty file", "empty.bin", "0", "12", "got a file of 0 bytes"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for how, open := range opens(t, top, outside(tt.location, tt.offset, tt.length)) {
				f, err := open()
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.Import()
				if err == nil || !strings.Contains(err.Error(), `onnx: tensor "w": external data`) ||
					!strings.Contains(err.Error(), tt.want) {
					t.Errorf("%s: got %v, want %s", how, err, tt.want)
				}
				if err := f.Close(); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestExternalDataOfAFileSystemWithoutLinks(t *testing.T) {
	fsys := fstest.MapFS{
		"a/b/model.onnx": {Data: outside("d/w.bin", "4", "")}, "a/b/d/w.bin": {Data: f32s(0, 1, 2, 3)},
		"a/bad.onnx": {Data: outside("../w.bin", "", "")}, "w.bin": {Data: f32s(1, 2, 3)},
	}
	f, err := OpenFS(fsys, "a/b/model.onnx")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.Import(); err != nil {
		t.Error(err)
	}
	if f, err = OpenFS(fsys, "a/bad.onnx"); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Import(); err == nil {
		t.Error("got no error for a path out of the folder")
	}
}

func TestExternalDataNeedsAFolder(t *testing.T) {
	got := importError(t, outside("w.bin", "", ""))
	if want := `onnx: tensor "w": external data "w.bin": there is no folder to read it from`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestExternalAndInlineDataClash(t *testing.T) {
	w := float1("w", 1).int(14, 1).msg(13, pb{}.str(1, "location").str(2, "w.bin"))
	got := importError(t, model(graphOf(pb{}.msg(5, w))))
	if !strings.Contains(got, "got both external data and data in the file") {
		t.Errorf("got %s", got)
	}
}

func TestOpenNamesTheFile(t *testing.T) {
	dir := t.TempDir()
	empty := filepath.Join(dir, "empty.onnx")
	if err := os.WriteFile(empty, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, file, want string }{
		{"missing", filepath.Join(dir, "none.onnx"), "none.onnx"},
		{"folder", dir, "got a directory, want a file"},
		{"empty", empty, "the file is empty"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if f, err := Open(tt.file); f != nil || err == nil || !strings.HasPrefix(err.Error(), "onnx: ") ||
				!strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", f, err, tt.want)
			}
		})
	}
	if _, err := OpenFS(os.DirFS(dir), "none.onnx"); err == nil || !strings.HasPrefix(err.Error(), "onnx: ") {
		t.Errorf("got %v", err)
	}
}

func TestTrimmedPagesAreReadAgain(t *testing.T) {
	want := make([]byte, 100_000)
	for i := range want {
		want[i] = byte(i * 7)
	}
	name := filepath.Join(t.TempDir(), "weights")
	if err := os.WriteFile(name, want, 0o666); err != nil {
		t.Fatal(err)
	}
	h, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer h.Close()
	f := &File{}
	defer f.Close()
	got, err := f.mapFile(h)
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if !bytes.Equal(got, want) {
			t.Fatal("got other bytes than the file's")
		}
		for _, part := range [][]byte{got, got[5000:60000], got[4000:4100], got[99_990:], want, nil} {
			f.TrimPart(part)
		}
		f.Trim()
	}
}
