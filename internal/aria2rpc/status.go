package aria2rpc

import (
	"cmp"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/mlget/mlget/internal/daemon"
)

func number(n int64) string { return strconv.FormatInt(n, 10) }

// tell are the calls that change nothing.
func (s *Server) tell(method string, p params) (result any, ok bool, err error) {
	m := s.Manager
	switch method {
	case "aria2.tellStatus":
		result, err = s.tellStatus(p)
	case "aria2.getUris":
		result, err = s.of(p, func(j daemon.Status) (any, error) {
			return uris(j), stillThere(j, "URI")
		})
	case "aria2.getFiles":
		result, err = s.of(p, func(j daemon.Status) (any, error) { return s.files(j), nil })
	case "aria2.getServers":
		result, err = s.of(p, servers)
	case "aria2.getPeers":
		result, err = s.of(p, func(j daemon.Status) (any, error) { return []any{}, stillThere(j, "peer") })
	case "aria2.getOption":
		result, err = s.of(p, func(j daemon.Status) (any, error) { return s.shown(j.Options.All(), false), nil })
	case "aria2.getGlobalOption":
		result = s.shown(m.Global(), true)
	case "aria2.getGlobalStat":
		t := m.Totals()
		result = object{
			"downloadSpeed": number(t.Speed), "uploadSpeed": "0", "numActive": strconv.Itoa(t.Active), "numWaiting": strconv.Itoa(t.Waiting),
			"numStopped": strconv.Itoa(t.Stopped), "numStoppedTotal": strconv.Itoa(t.Ended),
		}
	case "aria2.tellActive":
		var k keys
		if k, err = optionalKeys(p, 0); err == nil {
			result = s.statuses(m.Active(), k)
		}
	case "aria2.tellWaiting":
		result, err = s.page(p, m.Waiting)
	case "aria2.tellStopped":
		result, err = s.page(p, m.Stopped)
	case "mlget.getLinks":
		result = links(m.Active())
	case "mlget.getEnergy":
		result = energy(s.Energy.Energy())
	default:
		return nil, false, nil
	}
	return result, true, err
}

// of answers a question about one job.
func (s *Server) of(p params, what func(daemon.Status) (any, error)) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	j, err := s.Manager.Status(prefix)
	if err != nil {
		return nil, refusal(err, prefix, 0, "")
	}
	return what(j)
}

// stillThere is an error if a job has ended: aria2 keeps no such data of it then.
func stillThere(j daemon.Status, data string) error {
	if hasEnded(j) {
		return failf("No %s data is available for GID#%s", data, j.GID)
	}
	return nil
}

func hasEnded(j daemon.Status) bool {
	return j.State == daemon.Complete || j.State == daemon.Failed || j.State == daemon.Removed
}

func (s *Server) tellStatus(p params) (any, error) {
	if _, err := required[string](p, 0); err != nil {
		return nil, err
	}
	k, err := optionalKeys(p, 1)
	if err != nil {
		return nil, err
	}
	return s.of(p, func(j daemon.Status) (any, error) { return s.status(j, k), nil })
}

func (s *Server) page(p params, get func(offset, num int) []daemon.Status) (any, error) {
	offset, err := requiredInteger(p, 0)
	if err != nil {
		return nil, err
	}
	num, err := requiredInteger(p, 1)
	if err == nil {
		err = atLeast(num, 0, 1)
	}
	if err != nil {
		return nil, err
	}
	k, err := optionalKeys(p, 2)
	if err != nil {
		return nil, err
	}
	return s.statuses(get(offset, num), k), nil
}

func (s *Server) statuses(all []daemon.Status, k keys) []object {
	list := make([]object, len(all))
	for i, j := range all {
		list[i] = s.status(j, k)
	}
	return list
}

// status is what tellStatus answers.
func (s *Server) status(j daemon.Status, k keys) object {
	piece := s.pieceLength(j)
	pieces := (j.Size + piece - 1) / piece
	o := object{
		"gid": j.GID.String(), "status": string(j.State), "totalLength": number(j.Size), "completedLength": number(j.Done),
		"uploadLength": "0", "uploadSpeed": "0", "downloadSpeed": number(j.Speed), "connections": strconv.Itoa(j.Connections),
		"pieceLength": number(piece), "numPieces": number(pieces), "dir": cmp.Or(j.Options.Get("dir"), s.dir),
	}
	if k == nil || k["files"] {
		o["files"] = s.files(j)
	}
	if k == nil || k["bitfield"] {
		if bits := bitfield(j, piece, pieces); bits != "" {
			o["bitfield"] = bits
		}
	}
	if hasEnded(j) {
		o["errorCode"], o["errorMessage"] = strconv.Itoa(j.Code), j.Message
	}
	return o.pick(k)
}

func (s *Server) pieceLength(j daemon.Status) int64 {
	n, err := strconv.ParseInt(cmp.Or(j.Options.Get("piece-length"), s.options["piece-length"].ordinary), 10, 64)
	if err != nil || n <= 0 {
		return 1 << 20
	}
	return n
}

// maxBits bounds a bitfield: of a larger file there is none.
const maxBits = 1 << 20

// bitfield says which pieces are there, where that follows from how many bytes are: of a file
// that is complete, or of which there is not yet a piece. It is in hexadecimal digits, the
// first piece first. Else it is empty.
func bitfield(j daemon.Status, piece, pieces int64) string {
	digits := int((pieces + 7) / 8 * 2)
	switch {
	case pieces == 0, pieces > maxBits, j.Path == "":
		return ""
	case j.Done < piece && j.Done < j.Size:
		return strings.Repeat("0", digits)
	case j.Done < j.Size:
		return ""
	}
	all := []byte(strings.Repeat("f", digits))
	if rest := pieces % 8; rest > 0 {
		const hex = "0123456789abcdef"
		last := byte(0xff << (8 - rest))
		all[digits-2], all[digits-1] = hex[last>>4], hex[last&0xf]
	}
	return string(all)
}

// uris are a job's, with their states.
func uris(j daemon.Status) []object {
	list := make([]object, len(j.URIs))
	for i, uri := range j.URIs {
		state := "waiting"
		if i < j.Used {
			state = "used"
		}
		list[i] = object{"uri": daemon.WithoutPassword(uri), "status": state}
	}
	return list
}

// files is a job's one file.
func (s *Server) files(j daemon.Status) []object {
	path := j.Path
	if out := j.Options.Get("out"); path == "" && out != "" {
		path = filepath.Join(cmp.Or(j.Options.Get("dir"), s.dir), out)
	}
	return []object{{
		"index": "1", "path": path, "length": number(j.Size), "completedLength": number(j.Done), "selected": "true", "uris": uris(j),
	}}
}

// servers are the links over which an active job's server is asked.
func servers(j daemon.Status) (any, error) {
	if j.State != daemon.Active {
		return nil, failf("No active download for GID#%s", j.GID)
	}
	if len(j.URIs) == 0 {
		return []object{{"index": "1", "servers": []object{}}}, nil
	}
	uri := daemon.WithoutPassword(j.URIs[max(0, min(j.Used, len(j.URIs))-1)])
	list := make([]object, len(j.Links))
	for i, l := range j.Links {
		list[i] = object{"uri": uri, "currentUri": uri, "downloadSpeed": number(int64(l.Rate)), "link": l.Name}
	}
	return []object{{"index": "1", "servers": list}}, nil
}

// energy is what mlget.getEnergy answers: numbers are texts, and what is not known is left out.
func energy(e Energy) object {
	o := object{"joules": decimal(e.Joules), "seconds": decimal(e.Seconds)}
	if e.Source != "" {
		o["source"] = e.Source
	}
	if e.Watts > 0 {
		o["watts"] = decimal(e.Watts)
	}
	switch {
	case e.Unavailable != "":
		o["unavailable"] = e.Unavailable
	case e.IsExternal:
		o["unavailable"] = "on external power"
	}
	links := make([]object, len(e.Links))
	for i, l := range e.Links {
		links[i] = object{"name": l.Name, "model": l.Model, "joules": decimal(l.Joules)}
	}
	o["links"] = links
	return o
}

func decimal(x float64) string { return strconv.FormatFloat(x, 'f', 3, 64) }

// links is what each link does for all active jobs.
func links(active []daemon.Status) []object {
	sum := map[string]daemon.LinkShare{}
	for _, j := range active {
		for _, l := range j.Links {
			of := sum[l.Name]
			sum[l.Name] = daemon.LinkShare{Name: l.Name, Bytes: of.Bytes + l.Bytes, Rate: of.Rate + l.Rate}
		}
	}
	list := make([]object, 0, len(sum))
	for _, name := range slices.Sorted(maps.Keys(sum)) {
		list = append(list, object{"name": name, "completedLength": number(sum[name].Bytes), "downloadSpeed": number(int64(sum[name].Rate))})
	}
	return list
}
