package aria2rpc

import (
	"errors"
	"slices"
	"strings"

	"github.com/mlget/mlget/internal/daemon"
)

const (
	multicall         = "system.multicall"
	listMethods       = "system.listMethods"
	listNotifications = "system.listNotifications"
)

// methodNames are the methods, in the order in which they are listed.
func methodNames() []string {
	return strings.Fields(`aria2.addUri aria2.addTorrent aria2.getPeers aria2.addMetalink aria2.remove aria2.pause aria2.forcePause
aria2.pauseAll aria2.forcePauseAll aria2.unpause aria2.unpauseAll aria2.forceRemove aria2.changePosition aria2.tellStatus
aria2.getUris aria2.getFiles aria2.getServers aria2.tellActive aria2.tellWaiting aria2.tellStopped aria2.getOption
aria2.changeUri aria2.changeOption aria2.getGlobalOption aria2.changeGlobalOption aria2.purgeDownloadResult
aria2.removeDownloadResult aria2.getVersion aria2.getSessionInfo aria2.shutdown aria2.forceShutdown aria2.getGlobalStat
aria2.saveSession system.multicall system.listMethods system.listNotifications mlget.getLinks mlget.getEnergy`)
}

// notificationNames are what clients are told of by WebSocket. The last one, of BitTorrent,
// never comes.
func notificationNames() []string {
	return []string{
		"aria2.onDownloadStart", "aria2.onDownloadPause", "aria2.onDownloadStop",
		"aria2.onDownloadComplete", "aria2.onDownloadError", "aria2.onBtDownloadComplete",
	}
}

// call makes one call.
func (r *request) call(method string, p params) (any, error) {
	if r.size > maxResults {
		return nil, failf("The answer to this request is too large.")
	}
	switch method { // none of these needs the secret
	case multicall:
		return r.multicall(p)
	case listMethods:
		return methodNames(), nil
	case listNotifications:
		return notificationNames(), nil
	}
	p, ok := r.authorize(p)
	s := r.Server
	if !ok {
		return nil, failf("Unauthorized")
	}
	switch method {
	case "aria2.getVersion":
		return object{"version": Version, "enabledFeatures": []string{"Async DNS", "HTTPS", "Message Digest"}, "mlget": s.Mlget}, nil
	case "aria2.getSessionInfo":
		return object{"sessionId": s.session}, nil
	case "aria2.shutdown", "aria2.forceShutdown":
		s.stop.Do(func() { close(s.stopped) })
		return resultOK, nil
	case "aria2.addUri":
		return s.addURI(p)
	case "aria2.addTorrent", "aria2.addMetalink":
		return nil, failf("No such method: %s", method)
	case "aria2.changePosition":
		return s.changePosition(p)
	case "aria2.changeUri":
		return s.changeURI(p)
	case "aria2.changeOption":
		return s.changeOption(p)
	case "aria2.changeGlobalOption":
		return s.changeGlobalOption(p)
	case "aria2.removeDownloadResult":
		return s.removeResult(p)
	}
	if result, ok, err := s.steer(method, p); ok {
		return result, err
	}
	if result, ok, err := s.tell(method, p); ok {
		return result, err
	}
	return nil, failf("No such method: %s", method)
}

const resultOK = "OK"

// steer are the calls that change what runs, and name one job or none.
func (s *Server) steer(method string, p params) (result any, ok bool, err error) {
	m := s.Manager
	result = resultOK
	switch method {
	case "aria2.pause", "aria2.forcePause":
		result, err = s.ofJob(p, m.Pause, "GID#%s cannot be paused now")
	case "aria2.unpause":
		result, err = s.ofJob(p, m.Unpause, "GID#%s cannot be unpaused now")
	case "aria2.remove", "aria2.forceRemove":
		result, err = s.ofJob(p, m.Remove, "Active Download not found for GID#%s")
	case "aria2.pauseAll", "aria2.forcePauseAll":
		m.PauseAll()
	case "aria2.unpauseAll":
		m.UnpauseAll()
	case "aria2.purgeDownloadResult":
		m.Purge()
	case "aria2.saveSession":
		if saving := m.Save(); saving != nil {
			err = failf("Failed to serialize session: %v", saving)
		}
	default:
		return nil, false, nil
	}
	return result, true, err
}

// ofJob makes a call about one job.
func (s *Server) ofJob(p params, do func(prefix string) (daemon.GID, error), refused string) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	gid, err := do(prefix)
	if err != nil {
		return nil, refusal(err, prefix, gid, refused)
	}
	return gid.String(), nil
}

// refusal words why a call about a job failed; refused is for a job whose state does not
// allow it.
func refusal(err error, prefix string, gid daemon.GID, refused string) error {
	switch {
	case errors.Is(err, daemon.ErrGID):
		return failf("Invalid GID %s", prefix)
	case errors.Is(err, daemon.ErrAmbiguous):
		return failf("GID %s is not unique", prefix)
	case errors.Is(err, daemon.ErrNotFound):
		return failf("GID %s is not found", prefix)
	case errors.Is(err, daemon.ErrState):
		return failf(refused, gid)
	}
	return err
}

func (s *Server) addURI(p params) (any, error) {
	list, err := required[[]any](p, 0)
	if err != nil {
		return nil, err
	}
	given, _, err := as[map[string]any](p, 1)
	if err != nil {
		return nil, err
	}
	at, placed, err := integer(p, 2)
	if err != nil {
		return nil, err
	}
	uris := texts(list)
	if len(uris) == 0 {
		return nil, failf("URI is not provided.")
	}
	o, err := s.read(given, false)
	if err != nil {
		return nil, err
	}
	switch {
	case !placed:
		at = -1
	case at < 0:
		return nil, errPosition()
	}
	if uris, err = s.allowed(uris); err != nil {
		return nil, err
	}
	var gid daemon.GID
	if text, ok := o["gid"]; ok {
		if gid, err = daemon.ParseGID(text); err != nil {
			return nil, errNoURI()
		}
		delete(o, "gid")
	}
	if err := s.checkDir(o); err != nil {
		return nil, err
	}
	gid, err = s.Manager.Add(gid, uris, o, at)
	if errors.Is(err, daemon.ErrTaken) {
		return nil, errNoURI()
	}
	if err != nil {
		return nil, err
	}
	return gid.String(), nil
}

func errPosition() error { return failf("Position must be greater than or equal to 0.") }

func errNoURI() error { return failf("No URI to download.") }

// allowed are those URIs that can be downloaded; if one of them may not be, it fails.
func (s *Server) allowed(uris []string) (good []string, err error) {
	for _, uri := range uris {
		if uri = strings.TrimSpace(uri); !isHTTP(uri) {
			continue
		}
		if err := s.Allows.Check(uri); err != nil {
			return nil, failf("%s is not downloaded: %v", daemon.WithoutPassword(uri), err)
		}
		good = append(good, uri)
	}
	if len(good) == 0 {
		return nil, errNoURI()
	}
	return good, nil
}

func (s *Server) checkDir(o daemon.Options) error {
	if dir, ok := o["dir"]; ok && !Below(s.dir, dir) {
		return failf("dir must be %s, or below it", s.dir)
	}
	return nil
}

func (s *Server) changePosition(p params) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	offset, err := requiredInteger(p, 1)
	if err != nil {
		return nil, err
	}
	how, err := required[string](p, 2)
	if err != nil {
		return nil, err
	}
	from := slices.Index([]string{"POS_SET", "POS_CUR", "POS_END"}, how) // in daemon.Whence's order
	if from < 0 {
		return nil, failf("Illegal argument.")
	}
	at, err := s.Manager.Move(prefix, offset, daemon.Whence(from))
	if err != nil {
		return nil, s.refused(err, prefix, "GID#%s not found in the waiting queue.")
	}
	return at, nil
}

// refused is refusal where the call does not return the job's GID.
func (s *Server) refused(err error, prefix, text string) error {
	status, finding := s.Manager.Status(prefix)
	if finding != nil {
		return refusal(finding, prefix, 0, text)
	}
	return refusal(err, prefix, status.GID, text)
}

func (s *Server) changeURI(p params) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	file, err := requiredInteger(p, 1)
	if err == nil {
		err = atLeast(file, 1, 1)
	}
	if err != nil {
		return nil, err
	}
	without, err := required[[]any](p, 2)
	if err != nil {
		return nil, err
	}
	with, err := required[[]any](p, 3)
	if err != nil {
		return nil, err
	}
	at, placed, err := integer(p, 4)
	if err == nil && at < 0 {
		err = errPosition()
	}
	if err != nil {
		return nil, err
	}
	if file > 1 {
		if _, err := s.Manager.Status(prefix); err != nil {
			return nil, refusal(err, prefix, 0, "")
		}
		return nil, failf("fileIndex is out of range")
	}
	var more []string
	for _, uri := range texts(with) {
		if isHTTP(uri) && s.Allows.Check(uri) == nil {
			more = append(more, uri)
		}
	}
	removed := 0
	err = s.Manager.SetURIs(prefix, func(uris []string) []string {
		left := slices.Clone(uris)
		for _, uri := range texts(without) {
			if i := slices.Index(left, uri); i >= 0 {
				left = slices.Delete(left, i, i+1)
				removed++
			}
		}
		if !placed || at > len(left) {
			at = len(left)
		}
		return slices.Insert(left, at, more...)
	})
	if err != nil {
		return nil, s.refused(err, prefix, "Cannot remove URIs from GID#%s")
	}
	return []int{removed, len(more)}, nil
}

func (s *Server) changeOption(p params) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	given, err := required[map[string]any](p, 1)
	if err != nil {
		return nil, err
	}
	o, err := s.read(given, false)
	if err == nil {
		err = s.checkDir(o)
	}
	if err != nil {
		return nil, err
	}
	delete(o, "gid")
	delete(o, "pause")
	if err := s.Manager.SetOptions(prefix, o); err != nil {
		return nil, s.refused(err, prefix, "Cannot change option for GID#%s")
	}
	return resultOK, nil
}

func (s *Server) changeGlobalOption(p params) (any, error) {
	given, err := required[map[string]any](p, 0)
	if err != nil {
		return nil, err
	}
	o, err := s.read(given, true)
	if err == nil {
		err = s.checkDir(o)
	}
	if err != nil {
		return nil, err
	}
	for _, ofOne := range []string{"gid", "out", "checksum", "pause"} {
		delete(o, ofOne)
	}
	if err := s.Manager.SetGlobal(o); err != nil {
		return nil, err
	}
	return resultOK, nil
}

func (s *Server) removeResult(p params) (any, error) {
	prefix, err := required[string](p, 0)
	if err != nil {
		return nil, err
	}
	if err := s.Manager.Forget(prefix); err != nil {
		return nil, s.refused(err, prefix, "Could not remove download result of GID#%s")
	}
	return resultOK, nil
}
