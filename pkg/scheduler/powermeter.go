package scheduler

// The model of a link's radio may be wrong: another phone, a weak signal. While one link works
// alone, the power that the device draws above its base is that link's, and the link's model is
// scaled to agree (thesis, 9.3: energy as an input). EnergyMin decides by the scaled model from then
// on.
//
// One meter cannot tell two active links apart, so nothing is learnt while two are, nor while another
// radio may be in its tail. The processor's power for the download is included whichever link brings
// the bytes: a measured link looks dearer than one that was never measured.
const (
	// leastScale and mostScale bound how wrong a model may be [D]: the models of
	// internal/energy for one kind of radio lie within a factor of four.
	leastScale = 0.25
	mostScale  = 4
	// scaleEvidence is how many seconds a link must have been measured before its scale is used;
	// measurements that are scaleMemory seconds old count half [D].
	scaleEvidence = 3
	scaleMemory   = 10
	// lastWhole bounds the time since the previous reading, in times the period of which a
	// reading is the mean: beyond it a reading was missed.
	lastWhole = 1.5
)

// powerMeter is what is known of the power of the links' radios.
type powerMeter struct {
	lastReading Time   // when the power was last told
	alone       LinkID // the only link at work at the last reading; below 0: none, or several were
	since       Time   // since when it has been
}

// radioScale is how wrong the model of a link's radio is.
type radioScale struct {
	received int64   // bytes when the power was last told
	measured float64 // mJ, aged
	modelled float64 // mJ, aged in the same way
	seconds  float64 // of both, aged
}

// factor is by what the model is to be multiplied.
func (s *radioScale) factor() float64 {
	if s.seconds < scaleEvidence || s.modelled <= 0 {
		return 1
	}
	return max(leastScale, min(mostScale, s.measured/s.modelled))
}

// learn takes what a link has drawn on average over so many seconds, and what its model
// says, in mW.
func (s *radioScale) learn(seconds, measured, modelled float64) {
	keep := scaleMemory / (scaleMemory + seconds)
	s.measured = float64(keep*s.measured) + float64(measured*seconds)
	s.modelled = float64(keep*s.modelled) + float64(modelled*seconds)
	s.seconds = float64(keep*s.seconds) + seconds
}

// times is the radio with all its powers multiplied.
func (r Radio) times(factor float64) Radio {
	r.ActiveMW *= factor
	r.MWPerMbps *= factor
	r.PromotionMJ *= factor
	r.TailMJ *= factor
	r.MWPerConnection *= factor
	return r
}

// radio is the model of the link's radio, scaled by what was measured.
func (l *link) radio() Radio { return l.terms.Radio.times(l.scale.factor()) }

// take takes a reading of the power: watts above the base power, on average over a time.
func (d *powerMeter) take(now Time, watts float64, over Time, links linkList) {
	missed := float64(now-d.lastReading) > lastWhole*float64(over)
	d.lastReading = now
	id, alone := links.worksAlone(now)
	if !alone || id != d.alone {
		d.since = now
	}
	d.alone = id
	for i := range links {
		l := &links[i]
		came := l.load.received - l.scale.received
		l.scale.received = l.load.received
		if !alone || LinkID(i) != id || missed || came <= 0 || over <= 0 || now-d.since < over+l.terms.Radio.PromotionTime {
			continue
		}
		rate := float64(came) * mbitPerByte / over.Seconds()
		modelled := l.terms.Radio.ActiveMW + float64(l.terms.Radio.MWPerMbps*rate) + float64(l.terms.Radio.MWPerConnection*float64(l.load.working))
		l.scale.learn(over.Seconds(), max(0, watts)*1e3, modelled)
	}
}

// worksAlone is the link that receives while the radios of all others sleep.
func (ls linkList) worksAlone(now Time) (id LinkID, alone bool) {
	id = -1
	for i := range ls {
		switch l := &ls[i]; {
		case l.load.requests > 0 && id < 0:
			id = LinkID(i)
		case l.load.requests > 0, l.load.received > 0 && now-l.health.lastByte < l.terms.Radio.TailTime:
			return -1, false
		}
	}
	return id, id >= 0 && ls[id].receiving(now)
}

// receiving says whether bytes have come over l within two round trips, at least 100 ms: Chen's
// state RX.
func (l *link) receiving(now Time) bool {
	return l.load.requests > 0 && l.est.nMarks > 0 && l.health.idle(now) <= longest(100*Millisecond, 2, l.rtt.min)
}
