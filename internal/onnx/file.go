package onnx

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"unsafe"
)

// File is a decoded model together with the memory that it is read from. Its methods must not
// be called at the same time; what Import returns is safe for concurrent reads until Close.
type File struct {
	Model *Model

	maps [][]byte
	ext  map[string][]byte
	root *os.Root
	fsys fs.FS
	dir  string
}

// Open maps a model file. On systems without mmap, the file is read. The file must not be cut
// short while it is open: reading what is gone ends the process.
func Open(name string) (*File, error) {
	h, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	defer h.Close()
	f := &File{}
	b, err := f.mapFile(h)
	if err != nil {
		return nil, fmt.Errorf("onnx: file %.120q: %w", name, err)
	}
	if f.root, err = os.OpenRoot(filepath.Dir(name)); err != nil {
		return nil, errors.Join(fmt.Errorf("onnx: %w", err), f.Close())
	}
	if f.Model, err = f.decode(b); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

// OpenFS reads a model file, and later its external data, from a file system.
func OpenFS(fsys fs.FS, name string) (*File, error) {
	b, err := fs.ReadFile(fsys, name)
	if err != nil {
		return nil, fmt.Errorf("onnx: %w", err)
	}
	f, err := FromBytes(b)
	if err != nil {
		return nil, err
	}
	f.fsys, f.dir = fsys, path.Dir(name)
	return f, nil
}

// FromBytes decodes a model in memory, which must not change while the model is in use. It has
// no external data.
func FromBytes(b []byte) (*File, error) {
	m, err := Decode(b)
	if err != nil {
		return nil, err
	}
	return &File{Model: m}, nil
}

// Import turns the model into a graph; see the function of that name.
func (f *File) Import() (*Imported, error) { return Import(f.Model, f) }

// Close unmaps the files. Nothing that was read from them may be used afterwards.
func (f *File) Close() error {
	var errs []error
	for _, b := range f.maps {
		errs = append(errs, unmapBytes(b))
	}
	if f.root != nil {
		errs = append(errs, f.root.Close())
	}
	f.maps, f.ext, f.root = nil, nil, nil
	return errors.Join(errs...)
}

// Trim unmaps the pages of the mapped files that have been looked at so far, so that they do not
// count as the process's memory. Nothing changes for readers: a page is mapped again when it is
// looked at.
func (f *File) Trim() {
	for _, b := range f.maps {
		releaseBytes(b)
	}
}

// TrimPart does so for the whole pages of b, when they are part of a mapped file. It may be called
// at the same time as itself.
func (f *File) TrimPart(b []byte) {
	if len(b) == 0 {
		return
	}
	page := uintptr(os.Getpagesize())
	at := uintptr(unsafe.Pointer(unsafe.SliceData(b)))
	for _, m := range f.maps {
		base := uintptr(unsafe.Pointer(unsafe.SliceData(m)))
		if at < base || at-base >= uintptr(len(m)) {
			continue
		}
		from := (at - base + page - 1) / page * page
		to := (at - base + uintptr(len(b))) / page * page
		if from < to && to <= uintptr(len(m)) {
			releaseBytes(m[from:to])
		}
		return
	}
}

// decode decodes the model file. While it does, the file is looked at here and there; later,
// weights are read from end to end.
func (f *File) decode(b []byte) (*Model, error) {
	if len(f.maps) == 0 {
		return Decode(b)
	}
	adviseSparse(b, true)
	defer adviseSparse(b, false)
	return decode(b, func() { releaseBytes(b) })
}

// mapFile returns the contents of an open file, mapped where that is possible.
func (f *File) mapFile(h *os.File) ([]byte, error) {
	info, err := h.Stat()
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return nil, errors.New("got a directory, want a file")
	case !info.Mode().IsRegular():
		return io.ReadAll(h)
	case info.Size() == 0:
		return nil, nil
	case info.Size() != int64(int(info.Size())):
		return nil, fmt.Errorf("got %d bytes, too many for this machine's addresses", info.Size())
	}
	b, mapped, err := mapBytes(h, int(info.Size()))
	if mapped {
		f.maps = append(f.maps, b)
	}
	return b, err
}

// External implements Source: it maps or reads a file of the model's own folder. Paths that are
// absolute, contain "..", or lead out of the folder through a symbolic link are refused.
func (f *File) External(location string) ([]byte, error) {
	if b, ok := f.ext[location]; ok {
		return b, nil
	}
	if f.root == nil && f.fsys == nil {
		return nil, errors.New("there is no folder to read it from")
	}
	local := filepath.FromSlash(location)
	if path.IsAbs(location) || !filepath.IsLocal(local) || hasParent(location) {
		return nil, errors.New(`got a path that is absolute or contains "..", want one inside the model's folder`)
	}
	read := f.readRoot
	if f.fsys != nil {
		read = f.readFS
	}
	b, err := read(location)
	if err != nil {
		return nil, err
	}
	if f.ext == nil {
		f.ext = map[string][]byte{}
	}
	f.ext[location] = b
	return b, nil
}

func hasParent(location string) bool {
	for part := range strings.FieldsFuncSeq(location, func(r rune) bool { return r == '/' || r == filepath.Separator }) {
		if part == ".." {
			return true
		}
	}
	return false
}

func (f *File) readRoot(location string) ([]byte, error) {
	local := filepath.FromSlash(location)
	info, err := f.root.Stat(local)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("got something that is not a plain file")
	}
	h, err := f.root.Open(local)
	if err != nil {
		return nil, err
	}
	defer h.Close()
	return f.mapFile(h)
}

// readFS reads a file of the model's folder in a file system.
func (f *File) readFS(location string) ([]byte, error) {
	inside, err := f.resolve(location)
	if err != nil {
		return nil, err
	}
	name := path.Join(f.dir, inside)
	info, err := fs.Stat(f.fsys, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("got something that is not a plain file")
	}
	return fs.ReadFile(f.fsys, name)
}

// resolve follows the symbolic links of a file system that has them, and refuses those that
// lead out of the model's folder. It returns a path relative to the folder without links.
func (f *File) resolve(location string) (string, error) {
	links, ok := f.fsys.(fs.ReadLinkFS)
	if !ok {
		return location, nil
	}
	const maxLinks = 40
	done, rest := "", location
	for hops := 0; rest != ""; {
		part, tail, _ := strings.Cut(rest, "/")
		rest = tail
		switch part {
		case "", ".":
			continue
		case "..":
			if done == "" {
				return "", errors.New("a symbolic link leads out of the model's folder")
			}
			if done = path.Dir(done); done == "." {
				done = ""
			}
			continue
		}
		next := path.Join(done, part)
		info, err := links.Lstat(path.Join(f.dir, next))
		if err != nil {
			return "", err
		}
		if info.Mode()&fs.ModeSymlink == 0 {
			done = next
			continue
		}
		target, err := links.ReadLink(path.Join(f.dir, next))
		if err != nil {
			return "", err
		}
		if hops++; hops > maxLinks || path.IsAbs(filepath.ToSlash(target)) || filepath.IsAbs(target) {
			return "", errors.New("a symbolic link leads out of the model's folder")
		}
		rest = filepath.ToSlash(target) + "/" + rest
	}
	return done, nil
}
