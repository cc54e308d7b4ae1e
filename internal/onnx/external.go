package onnx

import (
	"errors"
	"fmt"
	"strconv"
)

// externalData returns the size bytes of a tensor that lie in another file.
func (p *TensorProto) externalData(src Source, size int64) ([]byte, error) {
	var location string
	offset, length := int64(0), size
	for _, e := range p.External {
		var err error
		switch e.Key {
		case "location":
			location = e.Value
		case "offset":
			offset, err = extent(e)
		case "length":
			length, err = extent(e)
		}
		if err != nil {
			return nil, err
		}
	}
	switch {
	case p.typed != 0 || len(p.Raw) > 0:
		return nil, errors.New("got both external data and data in the file, want one of them")
	case location == "":
		return nil, errors.New("external data: got no location")
	case length != size:
		return nil, fmt.Errorf("external data: got a length of %d bytes, want %d", length, size)
	case src == nil:
		return nil, fmt.Errorf("external data %.120q: there is no folder to read it from", location)
	}
	b, err := src.External(location)
	if err != nil {
		return nil, fmt.Errorf("external data %.120q: %w", location, err)
	}
	if offset > int64(len(b)) || size > int64(len(b))-offset {
		return nil, fmt.Errorf("external data %.120q: got a file of %d bytes, want %d bytes from %d on",
			location, len(b), size, offset)
	}
	return b[offset : offset+size : offset+size], nil
}

// extent reads a decimal number that is not negative.
func extent(e Entry) (int64, error) {
	n, err := strconv.ParseUint(e.Value, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("external data: %s: got %.120q, want a number from 0 on", e.Key, e.Value)
	}
	return int64(n), nil
}
