package annotate

import (
	"encoding/json"
	"fmt"
	"io"
)

// A Live is a report as a page that a server shows: sources are asked for when they are looked at, and the page asks
// for newer counts while there may be some. Its methods can be called at the same time.
type Live struct {
	r *Report
	d *pageData
}

// A pageLive says that the page is served: what it has not it may ask for.
type pageLive struct {
	Version int  `json:"version"` // another one for each content
	Running bool `json:"running"` // newer counts may come
	Stop    bool `json:"stop"`    // the run can be asked to end
}

// Live makes the parts of the page. Version is another number for each content; running says that newer ones may come,
// stop that the run can be asked to end. The page asks the directory that it is in for `data?v=VERSION`, which
// WriteData answers unless that is still the version, and for `source/N?v=VERSION`, WriteSource, and for
// `rest?v=VERSION`, WriteRest. It posts to `stop`.
func (r *Report) Live(version int, running, stop bool) (*Live, error) {
	d, err := newPageData(r)
	if err != nil {
		return nil, err
	}
	d.Live = &pageLive{version, running, stop}
	return &Live{r, d}, nil
}

// WritePage writes the page. Unlike that of WriteHTML it may ask its server for more.
func (l *Live) WritePage(w io.Writer) error {
	return l.d.write(w, pageTitle(l.r), totalsHTML(l.r), policy("'self'"))
}

// WriteData writes what the page shows, without sources, as JSON.
func (l *Live) WriteData(w io.Writer) error {
	data, err := l.d.json()
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// WriteRest writes the functions that the page does not show, which it asks for to compare itself with another one, as
// JSON.
func (l *Live) WriteRest(w io.Writer) error {
	data, err := json.Marshal(l.d.Rest)
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}

// Sources is how many files WriteSource has: numbers below that.
func (l *Live) Sources() int { return len(l.r.Files) }

// WriteSource writes the lines of a file of the report, by its number, as JSON.
func (l *Live) WriteSource(w io.Writer, file int) error {
	if file < 0 || file >= l.Sources() {
		return fmt.Errorf("annotate: the report has no file %d", file)
	}
	data, err := json.Marshal(l.r.fileRows(l.r.Files[file]))
	if err != nil {
		return err
	}
	_, err = w.Write(data)
	return err
}
